//go:build unix

package images_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/racing"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/images"
)

// A child is this very test binary as another process: it works and asks for one
// image, and may kill itself at a point on the way.
const childVariable = "IMAGES_TEST_CHILD"

// errand is what a child does.
type errand struct {
	Dir, Bucket, Key string
	Lab              string // which volumes
	KillAt           string // the point at which it ends; "": it does not
	Points           string // a file to write the points to that it passes
	Stop             bool   // it is stopped at KillAt, not killed
	Only             bool   // it asks and does not work
	Impatient        bool   // its leases are short, like those of whoever is beside it
}

func TestMain(m *testing.M) {
	text := os.Getenv(childVariable)
	if text == "" {
		if err := racing.HurryChildren(); err != nil {
			panic(err)
		}
		os.Exit(m.Run())
	}
	var e errand
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		panic(err)
	}
	if err := e.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run does the errand in the child.
func (e errand) run(ctx context.Context) (err error) {
	k := &killer{at: e.KillAt, stop: e.Stop, steps: map[string]int{}}
	o := laboratories[e.Lab].options(e.Dir)
	o.Volumes = laboratories[e.Lab].volumes(e.Dir, k.step)
	change := o.Engine
	o.Engine = func(c *engine.Config) {
		change(c)
		c.Trace = k.trace
		if e.KillAt != "" || e.Impatient {
			c.Clock = engine.SystemClock{}
		}
	}
	switch {
	case e.Stop:
		o.Lease = shortLease
	case e.Impatient:
		o.Lease = 2 * time.Second
	}
	o.Listener = k.listen
	s, err := images.Open(ctx, o)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	if e.Only {
		ended <- nil
	} else {
		go func() { ended <- s.Run(ctx) }()
	}
	result, err := s.Process(ctx, e.Bucket, e.Key)
	stop()
	err = errors.Join(err, <-ended, s.Close())
	if e.Points != "" {
		err = errors.Join(err, os.WriteFile(e.Points, []byte(strings.Join(k.passed, "\n")), 0o644))
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

// newErrand is one that asks for the object of a folder of its own.
func newErrand(t *testing.T, lab string) errand {
	t.Helper()
	return errand{Dir: stocked(t, lab), Lab: lab, Bucket: "images", Key: "a.tar"}
}

// start runs the errand in a process of its own.
func (e errand) start(t *testing.T) (*exec.Cmd, *strings.Builder) {
	t.Helper()
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program)
	command.Env = append(os.Environ(), childVariable+"="+string(text))
	var out strings.Builder
	command.Stdout, command.Stderr = &out, &out
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill() }) // it has ended, unless the test failed
	return command, &out
}

// succeeds runs the errand and returns what came of it.
func (e errand) succeeds(t *testing.T) images.Result {
	t.Helper()
	command, out := e.start(t)
	if err := command.Wait(); err != nil {
		t.Fatalf("%+v: %v\n%s", e, err, out)
	}
	var r images.Result
	if err := json.Unmarshal([]byte(out.String()), &r); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return r
}

// completes runs the errand after something happened, and judges what is there.
func (e errand) completes(t *testing.T, after string) {
	t.Helper()
	judge(t, e.Lab, e.Dir, after, e.succeeds(t))
}

// dies runs the errand, which has to end by SIGKILL at a point.
func (e errand) dies(t *testing.T, point string) {
	t.Helper()
	e.KillAt = point
	command, out := e.start(t)
	err := command.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("%+v was to die and ended with %v\n%s", e, err, out)
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		t.Fatalf("%+v was to die and ended with %v\n%s", e, err, out)
	}
}

// killer ends the process at a point. A point is passed when a process gets
// there for the first time; its name tells where that is.
type killer struct {
	at     string
	stop   bool
	mu     sync.Mutex
	passed []string
	steps  map[string]int // how often the keeper got to each
}

func (k *killer) pass(point string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.passed {
		if p == point {
			return
		}
	}
	k.passed = append(k.passed, point)
	if point == k.at && k.stop {
		_ = syscall.Kill(syscall.Getpid(), syscall.SIGSTOP)
	} else if point == k.at {
		_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
		select {}
	}
}

// trace makes a point before and after every handler, and before and after
// everything that is written.
func (k *killer) trace(ctx context.Context, op engine.Operation) (context.Context, func(error)) {
	name := fmt.Sprintf("%s %s.%s", op.Kind, op.Machine, op.Name)
	k.pass("before " + name)
	return ctx, func(error) { k.pass("after " + name) }
}

// step makes a point before each change that the keeper of the volumes makes. The
// steps of a method that repeats itself are told apart by their number.
func (k *killer) step(name string) error {
	k.mu.Lock()
	k.steps[name]++
	n := k.steps[name]
	k.mu.Unlock()
	k.pass(fmt.Sprintf("keeper: %s %d", name, n))
	if name == "format" { // another process does it, for longer than this
		time.AfterFunc(50*time.Millisecond, func() { k.pass("within format") })
	}
	return nil
}

// listen makes a point in the middle of what takes long.
func (k *killer) listen(_ string, phase images.Phase, done, total int64) {
	if total > 0 && done >= total/2 && done < total {
		k.pass("within " + string(phase))
	}
}

// open opens the service of a folder in this process, without a worker.
func open(t *testing.T, lab laboratory, dir string) *images.Service {
	t.Helper()
	s, err := images.Open(t.Context(), lab.options(dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// works lets a service work until the test ends.
func works(t *testing.T, s *images.Service) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// A process that is killed lives in the present. One that comes after it lives
// later, when the leases of the first have run out and the deadline of an
// extraction has not: so nobody has to wait, and a machine that is slow loses no
// lease.
const (
	longLease  = 10 * time.Minute
	later      = 11 * time.Minute
	shortLease = 300 * time.Millisecond
)

// ahead is a clock that is fast.
type ahead time.Duration

func (a ahead) Now() time.Time { return time.Now().Add(time.Duration(a)) }

// tested are the options of a test: later, and silent.
func tested(o images.Options) images.Options {
	o.Lease = longLease
	o.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	o.Engine = func(c *engine.Config) {
		c.Clock, c.PollInterval = ahead(later), 50*time.Millisecond
		c.Retry = fsm.RetryPolicy{First: 50 * time.Millisecond, Attempts: 3}
	}
	return o
}
