package images_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// pooled is the laboratory of the tests that only a pool has.
const pooled = "device-mapper"

// testReboot: a volume that the pool knows and that is not active is activated,
// whoever took its device away; one that only the database knows is made anew. A
// file that was written to the snapshot tells the two apart.
func testReboot(t *testing.T) {
	for _, tt := range []struct {
		name    string
		happens func(t *testing.T, dir string)
		rebuilt int64 // volumes
		kept    bool  // what was written
	}{
		{"a reboot", reboot, 0, true},
		{"dmsetup remove", func(t *testing.T, dir string) { // document 002, Test Case 5
			for name := range numbers(t, dir) {
				dmsetup(t, "remove", name)
			}
		}, 0, true},
		{"a snapshot is deleted", func(t *testing.T, dir string) {
			erase(t, dir, func(name string) bool { return name == snapshotOf(t, dir) })
		}, 1, false},
		{"both are deleted", func(t *testing.T, dir string) {
			erase(t, dir, func(string) bool { return true })
		}, 2, false},
		{"a reboot with another pool", func(t *testing.T, dir string) {
			reboot(t, dir)
			wipe(t, poolConfig(dir).Metadata)
		}, 2, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			work := newErrand(t, pooled)
			work.succeeds(t)
			dir := work.Dir
			writeMark(t, dir)
			tt.happens(t, dir)
			s, c := watched(t, pooled, dir)
			works(t, s)
			r := process(t, s, "a.tar")
			judge(t, pooled, dir, tt.name, r)
			if made := c.made.Load(); made != tt.rebuilt || c.fetched.Load() != 0 {
				t.Errorf("%d volumes were made, want %d, and %d objects fetched, want none", made, tt.rebuilt, c.fetched.Load())
			}
			if changed := c.changed.Load(); tt.kept && changed != 2 {
				t.Errorf("%d calls changed a volume, want 2, which activate the volume and its snapshot", changed)
			}
			if kept := hasMark(t, dir); kept != tt.kept {
				t.Errorf("what was written to the snapshot is there: %v, want %v", kept, tt.kept)
			}
		})
	}
}

// numbers are those of the volumes.
func numbers(t *testing.T, dir string) map[string]uint32 {
	t.Helper()
	return table[uint32](t, dir, "SELECT name, number FROM volume_numbers")
}

// erase takes volumes out of the kernel and out of the pool.
func erase(t *testing.T, dir string, which func(name string) bool) {
	t.Helper()
	for name, number := range numbers(t, dir) {
		if which(name) {
			dmsetup(t, "remove", name)
			dmsetup(t, "message", "pool", "0", fmt.Sprintf("delete %d", number))
		}
	}
}

// wipe makes a device of metadata one that becomes a new pool.
func wipe(t *testing.T, device string) {
	t.Helper()
	file, err := os.OpenFile(device, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.Write(make([]byte, 4096))
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		t.Fatal(err)
	}
}

// snapshotOf is the name of the only snapshot's volume.
func snapshotOf(t *testing.T, dir string) (name string) {
	t.Helper()
	if err := database(t, dir).QueryRow("SELECT 'thin-' || snapshot_id FROM snapshots").Scan(&name); err != nil {
		t.Fatal(err)
	}
	return name
}

const mark = "written-by-a-guest"

func writeMark(t *testing.T, dir string) {
	t.Helper()
	inSnapshot(t, dir, func(root string) {
		if err := os.WriteFile(filepath.Join(root, mark), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	})
}

func hasMark(t *testing.T, dir string) (there bool) {
	t.Helper()
	inSnapshot(t, dir, func(root string) {
		_, err := os.Stat(filepath.Join(root, mark))
		there = err == nil
	})
	return there
}

func inSnapshot(t *testing.T, dir string, do func(root string)) {
	t.Helper()
	keeper, name := poolKeeper(t, dir), snapshotOf(t, dir)
	v, err := keeper.Mount(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	do(v.Mounted)
	if err := keeper.Unmount(t.Context(), name); err != nil {
		t.Fatal(err)
	}
}
