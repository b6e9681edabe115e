package images_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/fsmgen/fsmgen/services/images"
)

// TestKillAtEveryWindow: a process is killed at every point that a run passes,
// before and after each handler and each transaction, and in the middle of the
// long ones; the next process completes, and nothing is left over.
func TestKillAtEveryWindow(t *testing.T) {
	everywhere(t, func(t *testing.T, lab string) {
		points := pointsOf(t, lab)
		const fewest = 30 // three machines with their handlers, events and phases
		if len(points) < fewest {
			t.Fatalf("a run passes %d points only: %q", len(points), points)
		}
		exercised := 0
		for _, point := range points {
			dir := t.TempDir()
			put(t, dir, "a.tar", imageTar(t, 1))
			work := errand{Dir: dir, Lab: lab, Bucket: "images", Key: "a.tar"}
			dying := work
			dying.KillAt = point
			dying.dies(t)
			exercised++
			r := work.succeeds(t)
			judge(t, lab, dir, point, r)
			if t.Failed() {
				return
			}
		}
		t.Logf("%d of %d windows exercised", exercised, len(points))
	})
}

// pointsOf lists the points that an undisturbed run passes.
func pointsOf(t *testing.T, lab string) []string {
	t.Helper()
	dir := t.TempDir()
	put(t, dir, "a.tar", imageTar(t, 1))
	file := filepath.Join(dir, "points")
	r := errand{Dir: dir, Lab: lab, Bucket: "images", Key: "a.tar", Points: file}.succeeds(t)
	judge(t, lab, dir, "nothing", r)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(text), "\n")
}

// judge looks at what is there once everything has come to rest, not through
// the service but through the database, the keeper and the file system.
func judge(t *testing.T, lab, dir, after string, r images.Result) {
	t.Helper()
	fail := func(format string, args ...any) {
		t.Helper()
		t.Errorf("after a kill at %q: "+format, append([]any{after}, args...)...)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "state", "images.db")+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	number := func(query string) (n int) {
		t.Helper()
		if err := db.QueryRow(query).Scan(&n); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		return n
	}
	for query, want := range map[string]int{
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
	var device, snapshot string
	if err := db.QueryRow("SELECT device_name, 'thin-' || snapshot_id FROM unpacked_images JOIN snapshots USING (image_id)").Scan(&device, &snapshot); err != nil {
		t.Fatal(err)
	}
	keeper := keeperOf(t, lab, dir)
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
	slices.Sort(names)
	if want := []string{device, snapshot}; !slices.Equal(names, want) {
		fail("the volumes are %q, want %q", names, want)
	}
	if r.Path == "" {
		fail("the result has no path: %+v", r)
	}
	for _, folder := range []string{"temp"} {
		left, err := os.ReadDir(filepath.Join(dir, "state", folder))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range left {
			fail("%s/%s is left", folder, f.Name())
		}
	}
	content(t, keeper, snapshot, fail)
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
	if err != nil || len(hello) != 20_000*len("#!/bin/sh\necho hello\n") {
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

// keeperOf is the keeper of a test's folder, for looking at what is there.
func keeperOf(t *testing.T, lab, dir string) images.Volumes {
	t.Helper()
	keeper, err := laboratories[lab].volumes(dir)(t.Context(), images.Numbers{})
	if err != nil {
		t.Fatal(fmt.Errorf("keeper of %s: %w", lab, err))
	}
	return keeper
}
