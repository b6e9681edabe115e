//go:build unix

package images_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fsmgen/fsmgen/services/images"
)

// counted counts what is asked of the object store and of the keeper.
type counted struct {
	images.Objects
	images.Volumes
	fetched, looked, changed atomic.Int64
	made                     atomic.Int64 // of changed: volumes and snapshots
}

func (c *counted) Fetch(ctx context.Context, bucket, key, temp, path string, p images.Progress) (images.Object, error) {
	c.fetched.Add(1)
	return c.Objects.Fetch(ctx, bucket, key, temp, path, p)
}

func (c *counted) Look(ctx context.Context, name string) (images.Volume, error) {
	c.looked.Add(1)
	return c.Volumes.Look(ctx, name)
}

func (c *counted) Create(ctx context.Context, name string) (images.Volume, error) {
	c.changed.Add(1)
	c.made.Add(1)
	return c.Volumes.Create(ctx, name)
}

func (c *counted) Snapshot(ctx context.Context, origin, name string) (images.Volume, error) {
	c.changed.Add(1)
	c.made.Add(1)
	return c.Volumes.Snapshot(ctx, origin, name)
}

func (c *counted) Activate(ctx context.Context, name string) (images.Volume, error) {
	c.changed.Add(1)
	return c.Volumes.Activate(ctx, name)
}

func (c *counted) Mount(ctx context.Context, name string) (images.Volume, error) {
	c.changed.Add(1)
	return c.Volumes.Mount(ctx, name)
}

func (c *counted) Unmount(ctx context.Context, name string) error {
	c.changed.Add(1)
	return c.Volumes.Unmount(ctx, name)
}

func (c *counted) Destroy(ctx context.Context, name string) error {
	c.changed.Add(1)
	return c.Volumes.Destroy(ctx, name)
}

// watched opens a service whose calls are counted.
func watched(t *testing.T, lab, dir string) (*images.Service, *counted) {
	t.Helper()
	o := laboratories[lab].options(dir)
	c := &counted{Objects: o.Objects}
	make := o.Volumes
	o.Objects = c
	o.Volumes = func(ctx context.Context, n images.Numbers) (v images.Volumes, err error) {
		c.Volumes, err = make(ctx, n)
		return c, err
	}
	s, err := images.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, c
}

func process(t *testing.T, s *images.Service, key string) images.Result {
	t.Helper()
	r, err := s.Process(t.Context(), "images", key)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestSecondRunHandsOff: document 002, Test Case 4. Nothing is fetched and
// nothing asked of the keeper: what the kernel shows in the file system tells
// that both volumes stand (F-002-26).
func TestSecondRunHandsOff(t *testing.T) {
	alone(t, func(t *testing.T, lab string) {
		dir := stocked(t, lab)
		s, c := watched(t, lab, dir)
		works(t, s)
		first := process(t, s, "a.tar")
		c.fetched.Store(0)
		c.looked.Store(0)
		c.changed.Store(0)
		second := process(t, s, "a.tar")
		if second != first {
			t.Errorf("it gave %+v, the first run %+v", second, first)
		}
		if f, l, d := c.fetched.Load(), c.looked.Load(), c.changed.Load(); f != 0 || d != 0 || l != 0 {
			t.Errorf("%d objects fetched, %d volumes looked at, %d changed; want none", f, l, d)
		}
	})
}

// TestCrashDuringDownload: document 002, Test Case 1.
func TestCrashDuringDownload(t *testing.T) {
	everywhere(t, func(t *testing.T, lab string) {
		work := newErrand(t, lab)
		work.dies(t, "within download")
		if left, err := os.ReadDir(filepath.Join(work.Dir, "state", "temp")); err != nil || len(left) != 1 {
			t.Fatalf("the kill left %v in temp, want one file: %v", left, err)
		}
		work.completes(t, "within download")
	})
}

// TestCrashBeforeValidation: document 002, Test Case 2, with the file as it was
// and with one that changed meanwhile.
func TestCrashBeforeValidation(t *testing.T) {
	everywhere(t, func(t *testing.T, lab string) {
		work := newErrand(t, lab)
		work.dies(t, "before handle download.validate_file")
		work.completes(t, "before handle download.validate_file")
	})
}

func TestFileChangedBeforeValidation(t *testing.T) {
	everywhere(t, func(t *testing.T, lab string) {
		work := newErrand(t, lab)
		work.dies(t, "before handle download.validate_file")
		path := filepath.Join(work.Dir, "state", "tars", images.ImageID("images", "a.tar")+".tar")
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		data[len(data)/2] ^= 1
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		s := open(t, laboratories[lab], work.Dir)
		works(t, s)
		_, err = s.Process(t.Context(), "images", "a.tar")
		aborted(t, err, "download", "file_invalid")
		settled(t, work.Dir)
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the file is still there: %v", err)
		}
		if list, err := s.Status(t.Context()); err != nil || len(list) != 1 || list[0].Download != "failed" {
			t.Errorf("the status is %+v: %v", list, err)
		}
	})
}

func aborted(t *testing.T, err error, machine, reason string) {
	t.Helper()
	var x *images.AbortedError
	if !errors.As(err, &x) || x.Machine != machine || x.Reason != reason {
		t.Errorf("it ended with %v, want %s aborted for %s", err, machine, reason)
	}
}

// TestCrashDuringExtract: document 002, Test Case 3. What was extracted is
// destroyed, and the extraction begins on a new volume.
func TestCrashDuringExtract(t *testing.T) {
	everywhere(t, func(t *testing.T, lab string) {
		work := newErrand(t, lab)
		work.dies(t, "within extract")
		work.completes(t, "within extract")
		db := database(t, work.Dir)
		var lost, destroyed int
		if err := db.QueryRow(`SELECT (SELECT count(*) FROM unpack_history WHERE transition = 'extract_lost'),
			(SELECT count(*) FROM fsm_outbox WHERE effect = 'destroy_device' AND state = 'delivered')`).Scan(&lost, &destroyed); err != nil {
			t.Fatal(err)
		}
		if lost != 1 || destroyed != 1 {
			t.Errorf("%d extractions were reported lost and %d devices destroyed, want 1 and 1", lost, destroyed)
		}
	})
}

func database(t *testing.T, dir string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "state", "images.db")+"?_busy_timeout=60000")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// TestDeviceGoneHeals: document 002, Test Case 5.
func TestDeviceGoneHeals(t *testing.T) {
	everywhere(t, func(t *testing.T, lab string) {
		dir := stocked(t, lab)
		s, c := watched(t, lab, dir)
		works(t, s)
		process(t, s, "a.tar")
		list, err := s.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"thin-" + list[0].Snapshot, list[0].Device} {
			if err := c.Volumes.Destroy(t.Context(), name); err != nil {
				t.Fatal(err)
			}
		}
		judge(t, lab, dir, "the device was removed", process(t, s, "a.tar"))
	})
}

// TestManuallyDeletedSnapshotHeals: document 002, Scenario 4 of Activate.
func TestManuallyDeletedSnapshotHeals(t *testing.T) {
	everywhere(t, func(t *testing.T, lab string) {
		dir := stocked(t, lab)
		s, c := watched(t, lab, dir)
		works(t, s)
		process(t, s, "a.tar")
		list, err := s.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Volumes.Destroy(t.Context(), "thin-"+list[0].Snapshot); err != nil {
			t.Fatal(err)
		}
		judge(t, lab, dir, "the snapshot was removed", process(t, s, "a.tar"))
	})
}

// TestDeviceIdentityIsDeterministic: document 002, Deterministic Device
// Identity, and what it gets wrong: hashes collide.
func TestDeviceIdentityIsDeterministic(t *testing.T) {
	everywhere(t, func(t *testing.T, lab string) {
		device := func(dir string) string {
			put(t, dir, "a.tar", imageTar(t, 1))
			s := open(t, laboratories[lab], dir)
			works(t, s)
			process(t, s, "a.tar")
			list, err := s.Status(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return list[0].Device
		}
		one, two := device(place(t, lab)), device(place(t, lab))
		if one != two || len(one) != len("thin-")+8 {
			t.Errorf("one image has the devices %q and %q", one, two)
		}
		// Another image has the id already.
		taken := place(t, lab)
		open(t, laboratories[lab], taken)
		if _, err := database(t, taken).Exec("INSERT INTO image_devices VALUES ('other', ?)", strings.TrimPrefix(one, "thin-")); err != nil {
			t.Fatal(err)
		}
		three := device(taken)
		if three == one || len(three) != len(one) {
			t.Errorf("the second image with this hash has the device %q, the first %q", three, one)
		}
	})
}

// TestConcurrentRequestsWorkOnce: sixteen callers in two services of one folder.
func TestConcurrentRequestsWorkOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, lab string) {
		dir := stocked(t, lab)
		a, ca := watched(t, lab, dir)
		b, cb := watched(t, lab, dir)
		works(t, a)
		works(t, b)
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				if _, err := []*images.Service{a, b}[i%2].Process(t.Context(), "images", "a.tar"); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := ca.fetched.Load() + cb.fetched.Load(); n != 1 {
			t.Errorf("the object was fetched %d times", n)
		}
		if len(list(t, a)) != 1 {
			t.Errorf("there are %d images", len(list(t, a)))
		}
	})
}

func list(t *testing.T, s *images.Service) []images.Status {
	t.Helper()
	l, err := s.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestTwoCommandsOneImage: two processes at once, of which one is killed in the
// middle; the other takes over.
func TestTwoCommandsOneImage(t *testing.T) {
	everywhere(t, func(t *testing.T, lab string) {
		work := newErrand(t, lab)
		work.Impatient = true
		dying := work
		dying.KillAt = "before handle unpack.extract_layers"
		first, _ := dying.start(t)
		work.completes(t, "the other command")
		_ = first.Wait() // it was killed, or came too late to work
		_ = first.Process.Kill()
	})
}

// TestGCRemovesWhatNothingRefersTo.
func TestGCRemovesWhatNothingRefersTo(t *testing.T) {
	everywhere(t, func(t *testing.T, lab string) {
		work := newErrand(t, lab)
		r := work.succeeds(t)
		s, c := watched(t, lab, work.Dir)
		if _, err := c.Volumes.Create(t.Context(), "thin-0badcafe"); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"temp/x.part", "tars/y.tar"} {
			if err := os.WriteFile(filepath.Join(work.Dir, "state", path), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := s.GC(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Volumes) != 1 || got.Volumes[0] != "thin-0badcafe" || len(got.Files) != 2 {
			t.Errorf("it removed %+v", got)
		}
		judge(t, lab, work.Dir, "a collection", r)
		again, err := s.GC(t.Context())
		if err != nil || len(again.Volumes)+len(again.Files)+len(again.InUse) != 0 {
			t.Errorf("a second collection found %+v: %v", again, err)
		}
	})
}

// TestOneWorks: a second daemon is told so; a collection does not disturb.
func TestOneWorks(t *testing.T) {
	everywhere(t, func(t *testing.T, lab string) {
		dir := stocked(t, lab)
		a, b := open(t, laboratories[lab], dir), open(t, laboratories[lab], dir)
		works(t, a)
		process(t, a, "a.tar") // it holds the lock by now
		if err := b.RunAlone(t.Context()); !errors.Is(err, images.ErrWorking) {
			t.Errorf("a second daemon got %v", err)
		}
		if _, err := b.GC(t.Context()); !errors.Is(err, images.ErrWorking) {
			t.Errorf("a collection got %v", err)
		}
	})
}

// TestRegisterWritesBothTablesOrNone: document 002, Rule 4 and "Two-table
// update, transactional".
func TestRegisterWritesBothTablesOrNone(t *testing.T) {
	everywhere(t, func(t *testing.T, lab string) {
		for _, point := range []string{"before handle activate.create_snapshot", "after handle activate.create_snapshot", "before fire activate.SNAPSHOT_READY", "after fire activate.SNAPSHOT_READY"} {
			t.Run(point, func(t *testing.T) {
				work := newErrand(t, lab)
				work.dies(t, point)
				var snapshots, active int
				if err := database(t, work.Dir).QueryRow(`SELECT (SELECT count(*) FROM snapshots WHERE active),
					(SELECT count(*) FROM images WHERE activation_status = 'active')`).Scan(&snapshots, &active); err != nil {
					t.Fatal(err)
				}
				if snapshots != active {
					t.Errorf("%d snapshots are active, %d images", snapshots, active)
				}
				work.completes(t, point)
			})
		}
	})
}
