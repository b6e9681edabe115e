//go:build unix

package images_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/services/images"
)

// TestReplacedObjectIsSeen: an image is ready and its object is replaced. The
// next run that downloads builds volume and snapshot anew, whichever of the two
// is still there.
func TestReplacedObjectIsSeen(t *testing.T) {
	everywhere(t, func(t *testing.T, lab string) {
		for name, lost := range map[string][]string{
			"both volumes are there": nil,
			"the device is gone":     {"device"},
			"the snapshot is gone":   {"snapshot"},
			"both volumes are gone":  {"snapshot", "device"},
		} {
			t.Run(name, func(t *testing.T) {
				dir := stocked(t, lab)
				s, c := watched(t, lab, dir)
				works(t, s)
				first := process(t, s, "a.tar")
				holdsWhatItReports(t, lab, dir, first)
				names := map[string]string{"snapshot": "thin-" + list(t, s)[0].Snapshot, "device": list(t, s)[0].Device}
				for _, volume := range lost {
					if err := c.Volumes.Destroy(t.Context(), names[volume]); err != nil {
						t.Fatal(err)
					}
				}
				replace(t, dir, 2)
				second := process(t, s, "a.tar")
				if second.Checksum != checksum(t, 2) {
					t.Errorf("it reports %s, and the object has %s", second.Checksum, checksum(t, 2))
				}
				holdsWhatItReports(t, lab, dir, second)
				judge(t, lab, dir, "the object was replaced", second)
			})
		}
	})
}

// TestUnchangedObjectIsNotRebuilt: a tar that was lost and is downloaded again is
// the content of the volumes that are there.
func TestUnchangedObjectIsNotRebuilt(t *testing.T) {
	everywhere(t, func(t *testing.T, lab string) {
		dir := stocked(t, lab)
		s, c := watched(t, lab, dir)
		works(t, s)
		first := process(t, s, "a.tar")
		replace(t, dir, 1)
		c.changed.Store(0)
		if second := process(t, s, "a.tar"); second != first || c.changed.Load() != 0 {
			t.Errorf("%d volumes were changed; it gave %+v, the first run %+v", c.changed.Load(), second, first)
		}
	})
}

// TestObjectReplacedBetweenSteps: a process is killed before and after each
// handler, and the object is replaced before the next process goes on; then the
// same with an image that was ready. What is reported is always what is mounted.
func TestObjectReplacedBetweenSteps(t *testing.T) {
	everywhere(t, func(t *testing.T, lab string) {
		for _, effect := range []string{
			"download.check_exists", "download.download_object", "download.validate_file",
			"unpack.check_unpacked", "unpack.destroy_device", "unpack.create_device", "unpack.extract_layers", "unpack.verify_layout", "unpack.unmount_device",
			"activate.check_snapshot", "activate.destroy_snapshot", "activate.create_snapshot",
		} {
			for _, point := range []string{"before handle " + effect, "after handle " + effect} {
				t.Run(point, func(t *testing.T) {
					beside(t)
					work := newErrand(t, lab)
					if !strings.Contains(effect, ".destroy_") { // nothing is there that a first run destroys
						work.dies(t, point)
						put(t, work.Dir, "a.tar", imageTar(t, 2))
					}
					work.isOneOf(t, 1, 2)

					replace(t, work.Dir, 3)
					work.dies(t, point)
					put(t, work.Dir, "a.tar", imageTar(t, 4))
					work.isOneOf(t, 3, 4)

					replace(t, work.Dir, 5)
					work.isOneOf(t, 5)
				})
			}
		}
	})
}

// isOneOf runs the errand, which has to report one of these contents and to have
// it in its volumes.
func (e errand) isOneOf(t *testing.T, contents ...int) {
	t.Helper()
	r := e.succeeds(t)
	if !slices.ContainsFunc(contents, func(n int) bool { return r.Checksum == checksum(t, n) }) {
		t.Errorf("it reports %s, which is none of the contents %d", r.Checksum, contents)
	}
	holdsWhatItReports(t, e.Lab, e.Dir, r)
	stand(t, e.Lab, e.Dir, t.Errorf)
}

// replace puts other content in the place of an object, and removes the tar that
// was made of it before.
func replace(t *testing.T, dir string, n int) {
	t.Helper()
	put(t, dir, "a.tar", imageTar(t, n))
	if err := os.Remove(filepath.Join(dir, "state", "tars", images.ImageID("images", "a.tar")+".tar")); err != nil {
		t.Fatal(err)
	}
}

func checksum(t *testing.T, n int) string {
	t.Helper()
	sum := sha256.Sum256(imageTar(t, n))
	return hex.EncodeToString(sum[:])
}

// holdsWhatItReports compares checksum and size of a result with what is in its
// volume and in its snapshot.
func holdsWhatItReports(t *testing.T, lab, dir string, r images.Result) {
	t.Helper()
	keeper := laboratories[lab].keeper(t, dir)
	device := "thin-" + strings.TrimSuffix(r.SnapshotID, "-snap")
	for _, name := range []string{device, "thin-" + r.SnapshotID} {
		v, err := keeper.Mount(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		host, err := os.ReadFile(filepath.Join(v.Mounted, "etc", "hostname"))
		if err := keeper.Unmount(t.Context(), name); err != nil {
			t.Error(err)
		}
		var n int
		if _, scanned := fmt.Sscanf(string(host), "image-%d\n", &n); err != nil || scanned != nil {
			t.Fatalf("etc/hostname of %s is %q: %v", name, host, err)
		}
		if r.Checksum != checksum(t, n) || r.Size != int64(len(imageTar(t, n))) {
			t.Errorf("%s holds image %d, of %d bytes with %s; reported are %d with %s",
				name, n, len(imageTar(t, n)), checksum(t, n), r.Size, r.Checksum)
		}
	}
}
