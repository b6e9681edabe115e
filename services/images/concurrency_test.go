//go:build unix

package images_test

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/progress"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/services/images"
)

// span is what a handler did, and when.
type span struct {
	record, effect string
	began, ended   int // places in the order of all beginnings and ends
}

// recorder writes down which handlers run beside one another.
type recorder struct {
	mu            sync.Mutex
	spans         []*span
	at, now, most int
}

func (r *recorder) trace(ctx context.Context, op engine.Operation) (context.Context, func(error)) {
	if op.Kind != engine.OpHandle {
		return ctx, func(error) {}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &span{record: op.Record, effect: op.Name, began: r.at}
	r.spans = append(r.spans, s)
	r.at++
	r.now++
	r.most = max(r.most, r.now)
	return ctx, func(error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		s.ended = r.at
		r.at++
		r.now--
	}
}

// gate holds up whoever fetches until somebody opens it.
type gate struct {
	images.Objects
	inside chan string   // keys that are being fetched
	open   chan struct{} // closed: all may go
}

func (g *gate) Fetch(ctx context.Context, bucket, key, temp, path string, p images.Progress) (images.Object, error) {
	g.inside <- key
	select {
	case <-g.open:
	case <-ctx.Done():
		return images.Object{}, context.Cause(ctx)
	}
	return g.Objects.Fetch(ctx, bucket, key, temp, path, p)
}

// TestParallelIsBounded: of more images than may be worked on at once, so many
// are, and no more; all get their turn.
func TestParallelIsBounded(t *testing.T) {
	t.Parallel()
	const parallel, all = 3, 8
	objects := map[string][]byte{}
	for i := range all {
		objects[fmt.Sprintf("%d.tar", i)] = imageTar(t, i)
	}
	g := &gate{s3Directory(t, objects), make(chan string, all), make(chan struct{})}
	r := &recorder{}
	s := newSite(t, images.Options{Objects: g, Parallel: parallel, Engine: func(c *engine.Config) { c.Trace = r.trace }})
	var waiting sync.WaitGroup
	for key := range objects {
		waiting.Go(func() {
			if _, err := s.service.Process(t.Context(), "images", key); err != nil {
				t.Error(err)
			}
		})
	}
	for i := range parallel {
		progress.Receive(t, fmt.Sprintf("the fetch beside %d others", i), g.inside)
	}
	const patience = 500 * time.Millisecond // for one that must not come
	select {
	case key := <-g.inside:
		t.Errorf("%s is fetched as well: that is more than %d", key, parallel)
	case <-time.After(patience):
	}
	close(g.open)
	waiting.Wait()
	if r.most != parallel {
		t.Errorf("at most %d handlers ran at once, want %d", r.most, parallel)
	}
	s.leaves(all, 2*all)
}

// TestOneHandlerAnImage: nothing is verified while it is being written, and
// nothing deleted while it is in use: whatever is done to an image is done when
// the thing before it has ended. Two services of a folder, many callers, and
// volumes that go away in between.
func TestOneHandlerAnImage(t *testing.T) {
	t.Parallel()
	objects := s3Directory(t, map[string][]byte{"a.tar": imageTar(t, 1), "b.tar": imageTar(t, 2)})
	r := &recorder{}
	o := images.Options{Dir: filepath.Join(t.TempDir(), "state"), Objects: objects, Engine: func(c *engine.Config) { c.Trace = r.trace }}
	one, two := newSite(t, o), newSite(t, o)
	for range 3 {
		var callers sync.WaitGroup
		for i := range 16 {
			callers.Go(func() {
				s, key := []*site{one, two}[i%2], []string{"a.tar", "b.tar"}[i/2%2]
				if _, err := s.service.Process(t.Context(), "images", key); err != nil {
					t.Error(err)
				}
			})
		}
		callers.Wait()
		one.rests()
		there, err := one.keeper.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range there {
			if err := one.keeper.Destroy(t.Context(), v.Name); err != nil {
				t.Fatal(err)
			}
		}
	}
	built := r.byImage(t, one)
	if len(built) != 2 {
		t.Fatalf("the handlers are those of %d images", len(built))
	}
	for image, spans := range built {
		slices.SortFunc(spans, func(a, b *span) int { return a.began - b.began })
		written := 0
		for i, s := range spans {
			if i > 0 && s.began < spans[i-1].ended {
				t.Errorf("%s: %s began before %s had ended", image, s.effect, spans[i-1].effect)
			}
			if s.effect == "extract_layers" {
				written++
			}
		}
		if written != 3 {
			t.Errorf("%s was extracted %d times, want once for each time that its volumes were there no more", image, written)
		}
	}
}

// byImage tells whose runs the spans belong to.
func (r *recorder) byImage(t *testing.T, s *site) map[string][]*span {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	db := s.database()
	out := map[string][]*span{}
	for _, x := range r.spans {
		var image string
		err := db.QueryRow(`SELECT image_id FROM download_records WHERE run_id = ?1 UNION SELECT image_id FROM unpack_records WHERE run_id = ?1
			UNION SELECT image_id FROM activate_records WHERE run_id = ?1`, x.record).Scan(&image)
		if err != nil {
			t.Fatal(err)
		}
		out[image] = append(out[image], x)
	}
	return out
}

// TestNothingIsCollectedBeforeItIsUsed: a collection between two commands, of
// which the first was killed, leaves what the second goes on with.
func TestNothingIsCollectedBeforeItIsUsed(t *testing.T) {
	everywhere(t, func(t *testing.T, lab string) {
		for _, point := range []string{"before handle download.validate_file", "before handle unpack.extract_layers", "before handle unpack.verify_layout", "before handle activate.create_snapshot", "after handle activate.create_snapshot"} {
			work := newErrand(t, lab)
			work.dies(t, point)
			s := open(t, laboratories[lab], work.Dir)
			if got, err := s.GC(t.Context()); err != nil || len(got.Volumes)+len(got.Files) > 0 {
				t.Errorf("killed at %q: a collection removed %+v: %v", point, got, err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			work.completes(t, point)
			var fetched int
			if err := database(t, work.Dir).QueryRow("SELECT count(*) FROM download_history WHERE transition = 'downloaded'").Scan(&fetched); err != nil || fetched != 1 {
				t.Errorf("killed at %q: the object was downloaded %d times: %v", point, fetched, err)
			}
		}
	})
}

// slowToDelete is a keeper whose Destroy waits.
type slowToDelete struct {
	images.Volumes
	open chan struct{}
}

func (k slowToDelete) Destroy(ctx context.Context, name string) error {
	<-k.open
	return k.Volumes.Destroy(ctx, name)
}

// TestANewRunWaitsForTheCleaning: what an aborted run has yet to delete has the
// names of what a new run makes.
func TestANewRunWaitsForTheCleaning(t *testing.T) {
	t.Parallel()
	bad := archive(t, tar.Header{Name: "etc/", Typeflag: tar.TypeDir, Mode: 0o755})
	objects := s3Directory(t, map[string][]byte{"a.tar": bad})
	k, r := slowToDelete{open: make(chan struct{})}, &recorder{}
	o := images.Options{Dir: filepath.Join(t.TempDir(), "state"), Objects: objects, Engine: func(c *engine.Config) { c.Trace = r.trace }}
	keep := volumesBelow(filepath.Join(o.Dir, "volumes"))
	o.Volumes = func(ctx context.Context, n images.Numbers) (v images.Volumes, err error) {
		k.Volumes, err = keep(ctx, n)
		return k, err
	}
	s := newSite(t, o)
	s.fails("images", "a.tar", "unpack", "layout_invalid", "completed")
	began := len(r.all())
	again := make(chan error, 1)
	go func() {
		_, err := s.service.Process(t.Context(), "images", "a.tar")
		again <- err
	}()
	const patience = 300 * time.Millisecond // for what must not come
	select {
	case err := <-again:
		t.Errorf("it did not wait: %v", err)
	case <-time.After(patience):
	}
	for _, x := range r.all()[began:] {
		if x.effect != "destroy_device" {
			t.Errorf("%s began before the volume was destroyed", x.effect)
		}
	}
	close(k.open)
	var aborted *images.AbortedError
	if err := <-again; !errors.As(err, &aborted) || aborted.Reason != "layout_invalid" {
		t.Error(err)
	}
	s.leaves(1, 0)
}

func (r *recorder) all() []*span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.spans)
}

// TestANewFolderIsOpenedByTwo: one that finds another at the file that it makes
// itself waits, although SQLite does not.
func TestANewFolderIsOpenedByTwo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := laboratories["directory"].options(dir)
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	other, err := database(t, dir).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	opened := make(chan error, 1)
	go func() {
		s, err := images.Open(t.Context(), o)
		if err == nil {
			err = s.Close()
		}
		opened <- err
	}()
	const patience = 300 * time.Millisecond // for what must not come
	select {
	case err := <-opened:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(patience):
	}
	if _, err := other.ExecContext(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

// TestCollectionsDoNotDisturb: as long as somebody works, every collection is
// refused, by whichever process.
func TestCollectionsDoNotDisturb(t *testing.T) {
	t.Parallel()
	g := &gate{s3Directory(t, map[string][]byte{"a.tar": imageTar(t, 1)}), make(chan string, 1), make(chan struct{})}
	o := images.Options{Dir: filepath.Join(t.TempDir(), "state"), Objects: g}
	s := newSite(t, o)
	other := newSite(t, o)
	done := make(chan error, 1)
	go func() {
		_, err := s.service.Process(t.Context(), "images", "a.tar")
		done <- err
	}()
	<-g.inside
	for _, from := range []*site{s, other} {
		if got, err := from.service.GC(t.Context()); !errors.Is(err, images.ErrWorking) {
			t.Errorf("a collection did %+v: %v", got, err)
		}
	}
	close(g.open)
	if err := <-done; err != nil {
		t.Error(err)
	}
	s.leaves(1, 2)
}

// TestAWorkerThatSlept: a process that is stopped in the middle of an extraction
// for longer than its lease. Nobody else works meanwhile, since it holds the
// folder; awake, it goes on or begins again, and there is one image in the end.
func TestAWorkerThatSlept(t *testing.T) {
	const lease = 900 * time.Millisecond // three times that of an errand
	everywhere(t, func(t *testing.T, lab string) {
		work := newErrand(t, lab)
		sleeping := work
		sleeping.KillAt, sleeping.Stop = "within extract", true
		first, out := sleeping.start(t)
		var state syscall.WaitStatus
		if _, err := syscall.Wait4(first.Process.Pid, &state, syscall.WUNTRACED, nil); err != nil || !state.Stopped() {
			t.Fatalf("the process is not stopped: %v, %v\n%s", state, err, out)
		}
		second, waits := work.start(t)
		time.Sleep(lease) // what is measured here is time: it passes
		if err := first.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		if err := first.Wait(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if err := second.Wait(); err != nil {
			t.Fatalf("%v\n%s", err, waits)
		}
		if !strings.Contains(out.String(), "snapshot_id") || !strings.Contains(waits.String(), "snapshot_id") {
			t.Errorf("the two printed\n%s\n%s", out, waits)
		}
		work.completes(t, "a sleep within extract")
	})
}
