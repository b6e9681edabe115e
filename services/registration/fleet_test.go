package registration_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	machine "github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/internal/progress"
	"github.com/fsmgen/fsmgen/internal/proxytest"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/registration"
)

// registerAll registers the fleet's nodes, eight at a time, while the daemon
// works.
func (e *job) registerAll(ctx context.Context, s *registration.Server) error {
	const clients = 8
	problems := make(chan error, len(e.Fleet)+1)
	var all sync.WaitGroup
	next := make(chan string)
	for range clients {
		all.Go(func() {
			for node := range next {
				text, err := json.Marshal(payload(node))
				if err == nil {
					_, err = s.Register(ctx, node, text, registration.Call{})
				}
				problems <- err
			}
		})
	}
	all.Go(func() { problems <- s.Run(ctx) })
	for _, node := range e.Fleet {
		next <- node
	}
	close(next)
	all.Wait()
	close(problems)
	var joined error
	for err := range problems {
		joined = errors.Join(joined, err)
	}
	return joined
}

// TestFleet registers 500 nodes through three daemons, processes of their own on
// one PostgreSQL, while Consul comes and goes: for longer than an effect is
// repeated at first, then often, and 20 nodes it does not take at all. An operator
// retries as long as the limit allows. Every node ends registered or failed with
// its reason, and none is ever advertised without its row.
func TestFleet(t *testing.T) {
	t.Parallel()
	const nodes, daemons, forbidden = 500, 3, 20
	s := newFixture(t)
	w := s.watched()
	w.forbidden = func(node string) bool { return node < fmt.Sprintf("node-%03d", forbidden) }
	s.options.Clock = nil // the daemons' too
	s.open()              // which does not work: it makes the tables, and is the operator's
	begun := time.Now()
	calm := flaps(s)
	for d := range daemons {
		e := job{Store: s.options.Store, Schema: s.options.Schema, Consul: "http://" + s.consul.Address(), Name: fmt.Sprintf("daemon-%d", d+1)}
		for n := d; n < nodes; n += daemons {
			e.Fleet = append(e.Fleet, fmt.Sprintf("node-%03d", n))
		}
		e.starts(t)
	}
	retries := operates(s, nodes, calm)
	took := time.Since(begun)

	ended := map[machine.State]int{}
	rows, err := w.rows(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	services := map[string]string{}
	for _, i := range s.advertised() {
		services[i.NodeID] = i.RegistrationID
	}
	for n := range nodes {
		r := s.status(fmt.Sprintf("node-%03d", n))
		ended[r.State]++
		registered := r.State == machine.Registered && rows[r.NodeID] && services[r.NodeID] == r.RegistrationID.String()
		failed := r.State == machine.Failed && (r.ConsulError.IsSet || r.PostgresError.IsSet || r.ValidationError.IsSet)
		if !registered && !failed {
			t.Errorf("row: %v, service: %q, and the record is %+v", rows[r.NodeID], services[r.NodeID], r)
		}
	}
	t.Logf("%d nodes through %d processes in %s, %.0f a second: %v after %d retries; %d requests to advertise, %d looks",
		nodes, daemons, took.Round(time.Millisecond), nodes/took.Seconds(), ended, retries, w.asks(), w.looked())
	const some = nodes / 4 // the fewer, the less of the machine the test has for itself
	if ended[machine.Failed] < forbidden || ended[machine.Registered] < some {
		t.Errorf("got %v", ended)
	}
	if retries <= 3*forbidden {
		t.Errorf("%d retries: Consul was there all the time", retries)
	}
}

// starts begins the job in a process of its own, which is killed at the end
// of the test.
func (e *job) starts(t *testing.T) {
	t.Helper()
	var out bytes.Buffer
	command := e.command(t)
	command.Stdout, command.Stderr = &out, &out
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill() // it has ended, if it said why
		_ = command.Wait()
		if out.Len() > 0 {
			t.Errorf("%s said %s", e.Name, &out)
		}
	})
}

// flaps has Consul come and go: one fault after the other, until calm is
// called.
func flaps(s *fixture) (calm func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	p := s.consul
	go func() {
		defer close(ended)
		const long, bad, good = 8 * time.Second, 400 * time.Millisecond, 600 * time.Millisecond
		for n := 0; ctx.Err() == nil; n++ {
			mend := flap(n, p)
			if n == 0 {
				lasts(ctx, long-bad)
			}
			lasts(ctx, bad)
			mend()
			lasts(ctx, good)
		}
	}()
	calm = sync.OnceFunc(func() { cancel(); <-ended })
	s.t.Cleanup(calm)
	return calm
}

func flap(n int, p *proxytest.Proxy) (mend func()) {
	switch n % 5 {
	case 0:
		p.Refuse()
		return p.Restore
	case 1:
		p.Swallow(true)
		return func() { p.Swallow(false); p.BreakAll() }
	case 2:
		p.Delay(50 * time.Millisecond)
		return func() { p.Delay(0) }
	case 3:
		p.CutNext(proxytest.Answer)
		p.RepeatNext(proxytest.Request)
		p.Reset()
	case 4:
		p.HalfOpen()
	}
	return func() {}
}

func lasts(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// operates retries partial registrations until every node has come to an end.
// Consul is calm once most of them have.
func operates(s *fixture, nodes int, calm func()) (retries int) {
	s.t.Helper()
	for w := (progress.Watch{}); ; {
		states := s.states()
		ended := 0
		for _, node := range slices.Sorted(maps.Keys(states)) {
			switch states[node] {
			case machine.Registered.String(), machine.Failed.String():
				ended++
			case machine.PartialRegistered.String():
				switch _, err := s.server.Trigger(s.t.Context(), node, machine.Retry{}, call("")); {
				case err == nil:
					retries++
				case !errors.Is(err, registration.ErrExhausted):
					var refused *fsm.Rejection
					if !errors.As(err, &refused) { // the daemon's own Reconcile may have been first
						s.t.Errorf("retry of %s: %v", node, err)
					}
				}
			}
		}
		if ended > nodes*3/4 {
			calm()
		}
		if ended == nodes {
			return retries
		}
		const pauses = 25 // between two rounds of an operator
		for range pauses {
			if err := w.Pause(s.t.Context(), states); err != nil {
				s.t.Fatalf("not all nodes came to an end: %v", err)
			}
		}
	}
}
