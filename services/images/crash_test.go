//go:build unix

package images_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/fsmgen/fsmgen/internal/guest"
	"github.com/fsmgen/fsmgen/services/images"
)

// TestKillAtEveryWindow: a process is killed at every point that a run passes,
// before and after each handler and each transaction, and in the middle of the
// long ones; the next process completes, and nothing is left over.
func TestKillAtEveryWindow(t *testing.T) {
	everywhere(t, func(t *testing.T, lab string) {
		fresh := t.TempDir()
		points := pointsOf(t, lab, fresh)
		const fewest = 30 // three machines with their handlers, events and phases
		if len(points) < fewest {
			t.Fatalf("a run passes %d points only: %q", len(points), points)
		}
		var exercised atomic.Int64
		t.Run("kill", func(t *testing.T) {
			for _, point := range points {
				t.Run(point, func(t *testing.T) {
					beside(t)
					if window(t, lab, fresh, point); !t.Failed() {
						exercised.Add(1)
					}
				})
			}
		})
		guest.Count(t, "image pipeline: %d of %d kill windows exercised on the keeper %s", exercised.Load(), len(points), lab)
	})
}

// window kills a process at a point, lets the next one go on and looks at what
// came of it.
func window(t *testing.T, lab, fresh, point string) {
	t.Helper()
	work := newErrand(t, lab)
	if err := os.CopyFS(filepath.Join(work.Dir, "state"), os.DirFS(fresh)); err != nil {
		t.Fatal(err)
	}
	work.dies(t, point)
	work.completes(t, point)
}

// pointsOf lists the points that an undisturbed run passes. To fresh it copies
// the state of a service that did nothing yet: making the tables takes its time.
func pointsOf(t *testing.T, lab, fresh string) (points []string) {
	t.Helper()
	t.Run("no kill", func(t *testing.T) {
		work := newErrand(t, lab)
		s, err := images.Open(t.Context(), laboratories[lab].options(work.Dir))
		if err == nil {
			err = s.Close()
		}
		if err == nil {
			err = os.CopyFS(fresh, os.DirFS(filepath.Join(work.Dir, "state")))
		}
		if err != nil {
			t.Fatal(err)
		}
		work.Points = filepath.Join(work.Dir, "points")
		work.completes(t, "nothing")
		text, err := os.ReadFile(work.Points)
		if err != nil {
			t.Fatal(err)
		}
		points = strings.Split(string(text), "\n")
	})
	return points
}

// judge looks at what is there once everything has come to rest, not through
// the service but through the database, the keeper and the file system.
func judge(t *testing.T, lab, dir, after string, r images.Result) {
	t.Helper()
	fail := func(format string, args ...any) {
		t.Helper()
		t.Errorf("after a kill at %q: "+format, append([]any{after}, args...)...)
	}
	db := database(t, dir)
	number := func(query string) (n int) {
		t.Helper()
		if err := db.QueryRow(query).Scan(&n); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		return n
	}
	for query, want := range map[string]int{
		"SELECT count(*) FROM snapshots JOIN unpacked_images USING (image_id)":                             1,
		"SELECT count(*) FROM images WHERE download_status = 'completed' AND activation_status = 'active'": 1,
		"SELECT count(*) FROM unpacked_images WHERE layout_verified":                                       1,
		"SELECT count(*) FROM snapshots WHERE active":                                                      1,
		"SELECT count(*) FROM images":                                                                      1,
		"SELECT count(*) FROM snapshots":                                                                   1,
		"SELECT count(*) FROM fsm_outbox WHERE state NOT IN ('delivered') AND NOT cancelled":               0,
		"SELECT count(*) FROM fsm_deadlines":                                                               0,
		"SELECT count(*) FROM download_records WHERE state <> 'COMPLETE'":                                  0,
		"SELECT count(*) FROM unpack_records WHERE state <> 'COMPLETE'":                                    0,
		"SELECT count(*) FROM activate_records WHERE state <> 'COMPLETE'":                                  0,
	} {
		if got := number(query); got != want {
			fail("%s: %d, want %d", query, got, want)
		}
	}
	if r.Path == "" {
		fail("the result has no path: %+v", r)
	}
	left, err := os.ReadDir(filepath.Join(dir, "state", "temp"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range left {
		fail("temp/%s is left", f.Name())
	}
	stand(t, lab, dir, fail)
}

// stand holds what the keeper has against the rows: a volume and a snapshot of
// each image, with its content, and nothing else.
func stand(t *testing.T, lab, dir string, fail func(string, ...any)) {
	t.Helper()
	var want []string
	db := database(t, dir)
	found, err := db.Query("SELECT device_name, 'thin-' || snapshot_id FROM unpacked_images JOIN snapshots USING (image_id) WHERE active")
	if err != nil {
		t.Fatal(err)
	}
	for found.Next() {
		var device, snapshot string
		if err := found.Scan(&device, &snapshot); err != nil {
			t.Fatal(err)
		}
		want = append(want, device, snapshot)
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(want)
	keeper := laboratories[lab].keeper(t, dir)
	volumes, err := keeper.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, v := range volumes {
		names = append(names, v.Name)
		if v.Mounted != "" {
			fail("%s is mounted at %s", v.Name, v.Mounted)
		}
	}
	if slices.Sort(names); !slices.Equal(names, want) {
		fail("the volumes are %q, want %q", names, want)
	}
	if kernel := laboratories[lab].judge; kernel != nil {
		kernel(t, dir, want, fail)
	}
	for _, name := range want {
		if strings.HasSuffix(name, "-snap") {
			content(t, keeper, name, fail)
		}
	}
}

// content holds the snapshot against what is in the archive.
func content(t *testing.T, keeper images.Volumes, name string, fail func(string, ...any)) {
	t.Helper()
	v, err := keeper.Mount(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := keeper.Unmount(t.Context(), name); err != nil {
			t.Error(err)
		}
	}()
	hello, err := os.ReadFile(filepath.Join(v.Mounted, "usr", "bin", "hello"))
	if err != nil || len(hello) != helloLines*len("#!/bin/sh\necho hello\n") {
		fail("usr/bin/hello has %d bytes: %v", len(hello), err)
	}
	target, err := os.Readlink(filepath.Join(v.Mounted, "usr", "bin", "hi"))
	if err != nil || target != "hello" {
		fail("usr/bin/hi leads to %q: %v", target, err)
	}
	host, err := os.ReadFile(filepath.Join(v.Mounted, "etc", "hostname"))
	if err != nil || !strings.HasPrefix(string(host), "image-") {
		fail("etc/hostname is %q: %v", host, err)
	}
}
