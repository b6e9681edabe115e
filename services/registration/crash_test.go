package registration_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/adapters/consul"
	machine "github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/services/registration"
)

// A child is this very test binary as another daemon, which kills itself at a
// point on its way.
const childVariable = "REGISTRATION_TEST_CHILD"

// job is what a child does.
type job struct {
	Store, Schema, Consul string
	Node                  string
	Payload               json.RawMessage
	TwoStep, Apart        bool
	KillAt                string   // "before" or "after", the kind of an operation, its name
	Name                  string   // of the daemon; default daemon-1
	Fleet                 []string // nodes to register instead, until it is killed from outside
	Then                  []order  // what follows the registration

	last atomic.Bool // the event after which it is killed is being fired
}

// order is a trigger that is fired when the node is in a state.
type order struct {
	In, Fire string
}

func TestMain(m *testing.M) {
	text := os.Getenv(childVariable)
	if text == "" {
		os.Exit(m.Run())
	}
	var e job
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		panic(err)
	}
	if err := e.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run registers the node and works until it is killed, or for longer than a run of the
// tests may take.
func (e *job) run(ctx context.Context) error {
	const longest = time.Hour
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	c, err := consul.New(consul.Options{Address: e.Consul})
	if err != nil {
		return err
	}
	settings, params := shortLeases, longTimeouts
	if len(e.Fleet) > 0 {
		settings, params = nil, machine.DefaultParams() // no daemon is killed before its time
	}
	s, err := registration.Open(ctx, registration.Options{
		Store: e.Store, Schema: e.Schema, Discovery: c, Catalog: c, TwoStep: e.TwoStep, Apart: e.Apart, Name: cmp.Or(e.Name, "daemon-1"), Trace: e.trace, Engine: settings,
		Params: params,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	if len(e.Fleet) > 0 {
		return e.registerAll(ctx, s)
	}
	if _, err := s.Register(ctx, e.Node, e.Payload, registration.Call{}); err != nil {
		return err
	}
	fired := make(chan error, 1)
	go func() { fired <- e.fireAll(ctx, s) }()
	return errors.Join(s.Run(ctx), <-fired)
}

// fireAll fires what is ordered, each when its time has come.
func (e *job) fireAll(ctx context.Context, s *registration.Server) error {
	triggers := map[string]machine.Payload{"RETRY": machine.Retry{}, "ABANDON": machine.Abandon{}, "DEREGISTER": machine.Deregister{}}
	for _, o := range e.Then {
		for ctx.Err() == nil {
			r, err := s.Recorded(ctx, e.Node)
			if err == nil && r.State.String() == o.In {
				break
			}
			lasts(ctx, 5*time.Millisecond)
		}
		if _, err := s.Trigger(ctx, e.Node, triggers[o.Fire], registration.Call{}); err != nil {
			return err
		}
	}
	return nil
}

func (e *job) trace(ctx context.Context, op engine.Operation) (context.Context, func(error)) {
	last := e.KillAt == "after fire "+op.Name && op.Kind == engine.OpFire
	if last {
		e.last.Store(true)
	}
	if e.Apart && op.Kind == engine.OpEffect && e.last.Load() {
		select {} // what the event asks for does not begin before the kill
	}
	die := func(when string) {
		if fmt.Sprintf("%s %s %s", when, op.Kind, op.Name) == e.KillAt {
			_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	die("before")
	return ctx, func(err error) {
		if last && err != nil { // on a busy machine its lease was over: it will be fired again
			e.last.Store(false)
			return
		}
		die("after")
	}
}

// longTimeouts are timeouts of states that pass on no machine, however busy it is: a
// record stays where a kill leaves it.
var longTimeouts = machine.Params{
	ValidatingTimeout: time.Hour, RegisteringPostgresTimeout: time.Hour, RegisteringConsulTimeout: time.Hour, DeregisteringTimeout: time.Hour,
}

// shortLeases is an engine that soon takes over what died with another.
func shortLeases(c *engine.Config) {
	c.Lease, c.PollInterval = 300*time.Millisecond, 20*time.Millisecond
}

// TestCrashDuringContinue: document 001, CONTINUE Trigger Recovery Disambiguation.
// Single-step, the record is at registering_postgres and the upsert is repeated;
// two-step, it is at postgres_registered and CONTINUE is fired again.
func TestCrashDuringContinue(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		twoStep bool
		killAt  string
		left    machine.State
		upserts int
	}{
		{"single-step", false, "after handle postgres.upsert_registration", machine.RegisteringPostgres, 2},
		{"two-step", true, "before deadline CONTINUE", machine.PostgresRegistered, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newFixture(t)
			s.options.Clock, s.options.Params, s.options.TwoStep, s.options.Engine = nil, longTimeouts, tt.twoStep, shortLeases
			e := job{
				Store: s.options.Store, Schema: s.options.Schema, Consul: s.url, Node: "n1", Payload: encoded(t, payload("n1")),
				TwoStep: tt.twoStep, Apart: true, KillAt: tt.killAt,
			}
			e.dies(t)
			s.open()
			if status := s.status("n1"); status.State != tt.left {
				t.Errorf("the crash left %s, want %s", status.State, tt.left)
			}
			s.wantBoth("n1", true, false)
			s.restarts()
			s.await("n1", machine.Registered)
			s.wantTrace("n1", happy)
			s.wantBoth("n1", true, true)
			var attempts int
			if err := s.pool.QueryRow(t.Context(), "SELECT attempts FROM "+s.options.Schema+".fsm_outbox WHERE effect = 'postgres.upsert_registration'").Scan(&attempts); err != nil || attempts != tt.upserts {
				t.Errorf("%d upserts, want %d: %v", attempts, tt.upserts, err)
			}
		})
	}
}

// command is the job as a process of its own.
func (e *job) command(t *testing.T) *exec.Cmd {
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
	return command
}

// dies runs the job, which has to end by SIGKILL.
func (e *job) dies(t *testing.T) {
	t.Helper()
	command := e.command(t)
	out, err := command.CombinedOutput()
	if status, ok := command.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		t.Fatalf("%s was to die and ended with %v\n%s", e.KillAt, err, out)
	}
}
