//go:build unix

package images_test

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/fsmgen/fsmgen/adapters/sqlite"
	"github.com/fsmgen/fsmgen/generated/activate"
	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/generated/unpack"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/images"
)

// The first 8 hex digits of the SHA-256 of the images of these two keys are the
// same: both want the device 3921f57c.
const (
	firstKey, secondKey = "c63625.tar", "c74013.tar"
	sharedID            = "3921f57c"
)

// The SHA-256 of the device names of the images of these two keys begin with the
// same 24 bits: both devices want one number in the pool.
const firstNumber, secondNumber = "c2426.tar", "c5981.tar"

// preferred is the device that an image wants (document 002, Deterministic Device
// Identity), and the 24 bits that its name wants: they must never change.
func preferred(key string) (id string, number uint32) {
	sum := sha256.Sum256([]byte(images.ImageID("images", key)))
	id = hex.EncodeToString(sum[:4])
	name := sha256.Sum256([]byte("thin-" + id))
	return id, uint32(name[0])<<16 | uint32(name[1])<<8 | uint32(name[2])
}

// devices returns which device each image has.
func devices(t *testing.T, dir string) map[string]string {
	t.Helper()
	return table[string](t, dir, "SELECT image_id, device_id FROM image_devices")
}

// table reads a table of two columns.
func table[V any](t *testing.T, dir, query string) map[string]V {
	t.Helper()
	found, err := database(t, dir).Query(query)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]V{}
	for found.Next() {
		var key string
		var value V
		if err := found.Scan(&key, &value); err != nil {
			t.Fatal(err)
		}
		out[key] = value
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestCollidingImagesAreTwo(t *testing.T) {
	one, _ := preferred(firstKey)
	if two, _ := preferred(secondKey); one != sharedID || two != sharedID {
		t.Fatalf("the images want the devices %s and %s, both should want %s", one, two, sharedID)
	}
	everywhere(t, func(t *testing.T, lab string) {
		dir := place(t, lab)
		put(t, dir, firstKey, imageTar(t, 1))
		put(t, dir, secondKey, imageTar(t, 2))
		s, c := watched(t, lab, dir)
		works(t, s)
		paths := both(t, s)
		if paths[0] == paths[1] {
			t.Fatalf("two images have one snapshot at %s", paths[0])
		}
		first := devices(t, dir)
		taken := 0
		for _, id := range first {
			if id == sharedID {
				taken++
			}
		}
		if len(first) != 2 || taken != 1 {
			t.Errorf("the devices of the images are %v; one should have %s", first, sharedID)
		}
		stand(t, lab, dir, t.Errorf)
		c.changed.Store(0)
		again := both(t, s)
		if again != paths || !maps.Equal(devices(t, dir), first) || c.changed.Load() != 0 {
			t.Errorf("a second run changed %d volumes; the snapshots were %q and are %q", c.changed.Load(), paths, again)
		}
	})
}

// both asks for the two images at once.
func both(t *testing.T, s *images.Service) (paths [2]string) {
	t.Helper()
	var all sync.WaitGroup
	for i, key := range []string{firstKey, secondKey} {
		all.Go(func() {
			r, err := s.Process(t.Context(), "images", key)
			if err != nil {
				t.Error(err)
			}
			paths[i] = r.Path
		})
	}
	all.Wait()
	return paths
}

// TestChosenDeviceIsKept: a process dies between the choice of a device and its
// use; another image wants the same one before the first goes on.
func TestChosenDeviceIsKept(t *testing.T) {
	everywhere(t, func(t *testing.T, lab string) {
		dir := place(t, lab)
		put(t, dir, firstKey, imageTar(t, 1))
		put(t, dir, secondKey, imageTar(t, 2))
		work := errand{Dir: dir, Lab: lab, Bucket: "images", Key: firstKey}
		work.dies(t, "after handle unpack.check_unpacked")
		chosen := devices(t, dir)
		image := images.ImageID("images", firstKey)
		if chosen[image] != sharedID {
			t.Fatalf("the devices are %v", chosen)
		}
		work.Key = secondKey
		work.succeeds(t)
		work.Key = firstKey
		work.succeeds(t)
		now := devices(t, dir)
		if len(now) != 2 || now[image] != sharedID {
			t.Errorf("the devices were %v and are %v", chosen, now)
		}
		stand(t, lab, dir, t.Errorf)
	})
}

// TestImageIDsAreLong: the SHA-256 of these two objects begin with the same 48
// bits, which were once all that an id had of it.
func TestImageIDsAreLong(t *testing.T) {
	one, two := images.ImageID("images", "16805824/a.tar"), images.ImageID("images", "38984511/a.tar")
	const digits = 32
	if one == two || len(one) != len("a-tar-")+digits {
		t.Errorf("the ids are %s and %s, want two with %d hex digits", one, two, digits)
	}
}

// TestTakenIDIsRefused: the rows of an image id are about another object. Its
// image is not given out, and its rows and files stay.
func TestTakenIDIsRefused(t *testing.T) {
	image := images.ImageID("images", "a.tar")
	for name, other := range map[string]struct{ bucket, key string }{
		"another key":    {"images", "other.tar"},
		"another bucket": {"tenant", "a.tar"},
	} {
		refuses := func(t *testing.T, dir string, s *images.Service, reason error) {
			t.Helper()
			_, err := s.Process(t.Context(), "images", "a.tar")
			if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%s is the image of %q in bucket %q; give one of the two objects another key", image, other.key, other.bucket)) {
				t.Errorf("it ended with %v", err)
			}
			if reason != nil && !errors.Is(err, reason) {
				t.Errorf("%v is no %v", err, reason)
			}
			if got := table[string](t, dir, "SELECT bucket, s3_key FROM images"); len(got) > 1 || len(got) == 1 && got[other.bucket] != other.key {
				t.Errorf("the rows are %v", got)
			}
			empty(t, dir, "tars")
		}
		t.Run("row of "+name, func(t *testing.T) {
			dir := stocked(t, "directory")
			s, _ := watched(t, "directory", dir)
			works(t, s)
			if _, err := database(t, dir).Exec("INSERT INTO images (image_id, bucket, s3_key, download_status) VALUES (?, ?, ?, 'pending')", image, other.bucket, other.key); err != nil {
				t.Fatal(err)
			}
			refuses(t, dir, s, nil)
			_, err := s.Process(t.Context(), "images", "a.tar")
			aborted(t, err, "download", "image_id_taken")
		})
		t.Run("run of "+name, func(t *testing.T) {
			dir := stocked(t, "directory")
			s, _ := watched(t, "directory", dir)
			store, err := sqlite.Open(t.Context(), filepath.Join(dir, "state", "images.db"), sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			e, err := engine.New[*sql.Tx](store, engine.Config{}, download.Define[*sql.Tx](nil, download.DefaultParams()),
				unpack.Define[*sql.Tx](nil, unpack.DefaultParams()), activate.Define[*sql.Tx](nil))
			if err != nil {
				t.Fatal(err)
			}
			start := download.Start{ImageID: image, Bucket: other.bucket, S3Key: other.key}
			if _, err := e.Create(t.Context(), "download", "5f0c3a0e-0000-4000-8000-000000000001", start, engine.Call{By: fsm.System()}); err != nil {
				t.Fatal(err)
			}
			refuses(t, dir, s, images.ErrIDTaken)
		})
	}
}
