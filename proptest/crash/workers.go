package crash

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/runtime/engine"
)

// runWorker is the main function of a child process that shares its work with others. It
// does what is due until stop ends. It kills itself if it is the first to reach the
// shared failpoint.
func runWorker[Tx any](ctx context.Context, db Database[Tx], subject Subject, dir, name string, stop io.Reader) error {
	p, err := readPlan(dir)
	if err != nil {
		return err
	}
	var w *workerProcess[Tx]
	caught := &sharedFailpoint{
		dir: dir,
		write: func(tag string, e entry) error {
			p, err := w.runOf(tag)
			if err != nil {
				return err
			}
			return p.write(e)
		},
		machineOf: func(messageID string) (string, error) { return w.machineOf(ctx, messageID) },
	}
	w, closeProcess, err := openWorkerProcess(ctx, db, subject, p, dir, &failpoints{shared: caught}, &sharedClock{dir: dir, name: name}, engine.Config{
		Worker: name, PollInterval: 5 * time.Millisecond, StopTimeout: time.Second,
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, stop) // its end is what it says, however it comes
		cancel()
	}()
	return errors.Join(w.engine.Run(ctx), closeProcess())
}

// workerSet is several worker processes on one database.
type workerSet struct {
	*testing.T
	start func(ctx context.Context, name string) *exec.Cmd

	mu      sync.Mutex
	started int
	running map[string]func() // what stops each of them
	dead    map[string]bool   // those that were killed
	ending  sync.WaitGroup
}

const workerCount = 3

func newWorkerSet(t *testing.T, start func(ctx context.Context, name string) *exec.Cmd) *workerSet {
	return &workerSet{T: t, start: start, running: map[string]func(){}, dead: map[string]bool{}}
}

// fill starts workers until workerCount of them run.
func (w *workerSet) fill() {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.running) < workerCount {
		w.started++
		name := fmt.Sprintf("worker-%d", w.started)
		cmd := w.start(w.Context(), name)
		var out strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &out
		stdin, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			w.Fatal(err)
		}
		w.running[name] = func() { _ = stdin.Close() } // of a dead one it is closed
		w.ending.Go(func() { w.ended(name, cmd.Wait(), &out) })
	}
}

// ended records the end of a worker.
func (w *workerSet) ended(name string, err error, out fmt.Stringer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.running, name)
	var exit *exec.ExitError
	switch {
	case err == nil:
	case errors.As(err, &exit) && exit.ExitCode() == -1:
		w.dead[name] = true
	default:
		w.Errorf("%s failed: %v\n%s", name, err, out)
	}
}

func (w *workerSet) isDead(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dead[name]
}

// names lists the running workers.
func (w *workerSet) names() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Keys(w.running))
}

func (w *workerSet) killed() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.dead)
}

// stop ends the workers and waits for them.
func (w *workerSet) stop() {
	w.mu.Lock()
	for _, stop := range w.running {
		stop()
	}
	w.mu.Unlock()
	w.ending.Wait()
}
