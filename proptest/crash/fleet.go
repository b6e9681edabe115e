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

// work is what a child process does that shares its work with others: it takes
// what is due until stop says that nobody needs it any more. It kills itself if
// it is the first to get to where the trap is set.
func work[Tx any](ctx context.Context, db Database[Tx], subject Subject, dir, name string, stop io.Reader) error {
	p, err := readPlan(dir)
	if err != nil {
		return err
	}
	var s *stage[Tx]
	caught := &trap{
		dir: dir,
		write: func(tag string, e entry) error {
			p, err := s.playOf(tag)
			if err != nil {
				return err
			}
			return p.write(e)
		},
		machineOf: func(messageID string) (string, error) { return s.machineOf(ctx, messageID) },
	}
	s, closeStage, err := openStage(ctx, db, subject, p, dir, &cutter{trap: caught}, &sharedClock{dir: dir, name: name}, engine.Config{
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
	return errors.Join(s.engine.Run(ctx), closeStage())
}

// fleet is several worker processes on one database.
type fleet struct {
	*testing.T
	start func(ctx context.Context, name string) *exec.Cmd

	mu      sync.Mutex
	started int
	living  map[string]func() // what stops each of them
	dead    map[string]bool   // those that were killed
	ending  sync.WaitGroup
}

const fleetSize = 3

func newFleet(t *testing.T, start func(ctx context.Context, name string) *exec.Cmd) *fleet {
	return &fleet{T: t, start: start, living: map[string]func(){}, dead: map[string]bool{}}
}

// fill starts workers until there are as many as there should be.
func (f *fleet) fill() {
	f.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.living) < fleetSize {
		f.started++
		name := fmt.Sprintf("worker-%d", f.started)
		cmd := f.start(f.Context(), name)
		var out strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &out
		stdin, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			f.Fatal(err)
		}
		f.living[name] = func() { _ = stdin.Close() } // of a dead one it is closed
		f.ending.Go(func() { f.ended(name, cmd.Wait(), &out) })
	}
}

// ended notes the end of a worker.
func (f *fleet) ended(name string, err error, out fmt.Stringer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.living, name)
	var exit *exec.ExitError
	switch {
	case err == nil:
	case errors.As(err, &exit) && exit.ExitCode() == -1:
		f.dead[name] = true
	default:
		f.Errorf("%s failed: %v\n%s", name, err, out)
	}
}

func (f *fleet) isDead(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dead[name]
}

// names lists the workers that are alive.
func (f *fleet) names() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Keys(f.living))
}

func (f *fleet) killed() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.dead)
}

// stop lets the workers end.
func (f *fleet) stop() {
	f.mu.Lock()
	for _, stop := range f.living {
		stop()
	}
	f.mu.Unlock()
	f.ending.Wait()
}
