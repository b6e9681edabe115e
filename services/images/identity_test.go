//go:build unix

package images_test

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"sync"
	"testing"

	"github.com/fsmgen/fsmgen/services/images"
)

// The first 8 hex digits of the SHA-256 of the images of these two keys are the
// same: both want the device 4878794b.
const (
	firstKey, secondKey = "c7166.tar", "c135576.tar"
	sharedID            = "4878794b"
)

// The SHA-256 of the device names of the images of these two keys begin with the
// same 24 bits: both devices want one number in the pool.
const firstNumber, secondNumber = "c588.tar", "c2039.tar"

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
