package engine_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/internal/progress"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// running starts Run and returns a function that stops it and waits.
func (s *stage) running() (stop func()) {
	ctx, cancel := context.WithCancel(s.t.Context())
	ended := make(chan struct{})
	e := s.engine
	go func() {
		defer close(ended)
		if err := e.Run(ctx); err != nil {
			s.t.Errorf("Run: %v", err)
		}
	}()
	return func() {
		s.t.Helper()
		cancel()
		progress.Receive(s.t, "the end of Run", ended)
	}
}

// handling is a real machine whose calls go to a function.
type handling struct {
	engine.Machine[*sql.Tx]
	handle func(context.Context, fsm.Dispatch) (*fsm.Event, error)
}

func (h handling) Handle(ctx context.Context, d fsm.Dispatch) (*fsm.Event, error) {
	return h.handle(ctx, d)
}

// handle makes an engine of deals whose calls go to a function.
func (s *stage) handle(inner engine.Store[*sql.Tx], f func(context.Context, fsm.Dispatch) (*fsm.Event, error)) {
	s.t.Helper()
	var err error
	s.engine, err = engine.New[*sql.Tx](inner, s.config, handling{deal.Define[*sql.Tx](nil, deal.DefaultParams()), f})
	if err != nil {
		s.t.Fatal(err)
	}
}

func TestRunCarriesOutWhatIsFired(t *testing.T) {
	s := newStage(t)
	answered := make(chan struct{})
	s.handle(s.store, func(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
		switch d.Effect {
		case "generate_deposit_address":
			e := parseEvent(`ADDRESS_READY {"deposit_address":"EQ1"}`)
			return &e, nil
		case "deal.events":
			if strings.Contains(string(d.Payload), "AWAITING_PAYMENT") {
				close(answered)
			}
		}
		return nil, nil
	})
	stop := s.running()
	id := s.offered("1")
	if _, err := s.engine.Fire(t.Context(), "deal", id, deal.Accept{}, owner); err != nil {
		t.Fatal(err)
	}
	progress.Receive(t, "the answer", answered)
	stop()
	s.wants("deal", id, "AWAITING_PAYMENT", 4)
}

// TestAHandIsFreeWhenItsEffectHasHappened: a worker with one hand goes on to the
// next effect while the outcome of the first can't be stored yet.
func TestAHandIsFreeWhenItsEffectHasHappened(t *testing.T) {
	s := newStage(t)
	s.offered("1")
	s.offered("2")
	s.config.Concurrency = 1
	gate, begun := make(chan struct{}), make(chan string, 10)
	s.handle(gated{s.store, gate}, func(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
		begun <- d.Record
		return nil, nil
	})
	stop := s.running()
	for range 2 {
		progress.Receive(t, "a free hand, before the outcome is stored", begun)
	}
	close(gate)
	stop()
}

// gated is a store whose transactions wait at a gate.
type gated struct {
	engine.Store[*sql.Tx]
	gate chan struct{}
}

func (g gated) InTx(ctx context.Context, f func(*sql.Tx) error) error {
	<-g.gate
	return g.Store.InTx(ctx, f)
}

// TestTwoWorkersShareTheWork: two processes on one file; no lease runs out,
// so every effect is attempted once, and every answer arrives once.
func TestTwoWorkersShareTheWork(t *testing.T) {
	const deals = 10
	s := newStage(t)
	var mu sync.Mutex
	attempts := map[string]int{}
	var addresses atomic.Int64
	done := make(chan struct{})
	handle := func(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
		mu.Lock()
		defer mu.Unlock()
		attempts[d.ID]++
		if strings.Contains(string(d.Payload), `"to_status":"AWAITING_PAYMENT"`) && addresses.Add(1) == deals {
			close(done)
		}
		if d.Effect != "generate_deposit_address" {
			return nil, nil
		}
		e := parseEvent(`ADDRESS_READY {"deposit_address":"EQ-` + d.Record + `"}`)
		return &e, nil
	}
	s.config.PollInterval = 10 * time.Millisecond
	s.handle(s.store, handle)
	stopOne := s.running()
	s.open() // another process
	s.handle(s.store, handle)
	stopTwo := s.running()
	for n := range deals {
		if _, err := s.engine.Fire(t.Context(), "deal", s.offered(fmt.Sprint(n+1)), deal.Accept{}, owner); err != nil {
			t.Fatal(err)
		}
	}
	progress.Receive(t, "the last answer", done)
	stopOne()
	stopTwo()
	for n := range deals {
		s.wants("deal", fullID(fmt.Sprint(n+1)), "AWAITING_PAYMENT", 4)
	}
	for id, n := range attempts {
		if n != 1 {
			t.Errorf("message %s was attempted %d times", id, n)
		}
	}
}

// TestStopLetsHandlersFinish: what a worker holds is finished, and stored.
func TestStopLetsHandlersFinish(t *testing.T) {
	s := newStage(t)
	began, finish := make(chan struct{}), make(chan struct{})
	s.handle(s.store, func(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
		if d.Effect == "notify_owner" {
			close(began)
			<-finish
		}
		return nil, nil
	})
	s.offered("1")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := s.engine.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	progress.Receive(t, "the call", began)
	cancel()
	close(finish)
	progress.Receive(t, "the end of Run", ended)
	if row := s.stored("notify_owner"); row.state != "delivered" {
		t.Errorf("the message is %+v", row)
	}
}

// TestStopReleasesWhatDoesNotFinish: the message of a handler that returns when its context ends
// goes back to the outbox, for another worker to take at once.
func TestStopReleasesWhatDoesNotFinish(t *testing.T) {
	s := newStage(t)
	s.config.StopTimeout = time.Millisecond
	began := make(chan struct{})
	s.handle(s.store, func(ctx context.Context, d fsm.Dispatch) (*fsm.Event, error) {
		if d.Effect != "notify_owner" {
			return nil, nil
		}
		close(began)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	s.offered("1")
	stop := s.running()
	progress.Receive(t, "the call", began)
	stop()
	if row := s.stored("notify_owner"); row.state != "pending" || row.attempts != 1 || row.leased {
		t.Errorf("the message is %+v", row)
	}
}

// TestLongCallKeepsItsLease: a worker renews the lease while a handler works.
func TestLongCallKeepsItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.config.Lease = 30 * time.Millisecond // of the bubble's clock: seven renewals in it
		began, finish := make(chan struct{}), make(chan struct{})
		s.handle(s.store, func(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
			if d.Effect == "notify_owner" {
				close(began)
				<-finish
			}
			return nil, nil
		})
		s.offered("1")
		stop := s.running()
		progress.Receive(t, "the call", began)
		before := s.stored("notify_owner").until
		s.clock.tick(20 * time.Millisecond)
		progress.Until(t, "the renewal", func() (any, bool) {
			until := s.stored("notify_owner").until
			return until, until != before
		})
		close(finish)
		stop()
	})
}

// TestRunSurvivesItsStore: a store that is gone is reported, and the worker goes
// on when it is back.
func TestRunSurvivesItsStore(t *testing.T) {
	s := newStage(t)
	s.config.PollInterval = time.Millisecond
	gone := times(3, func() error { return store.Failed("claim", errors.New("no route to host")) })
	done := make(chan struct{})
	var calls atomic.Int64
	s.handle(&faulty{Store: s.store, claim: gone}, func(context.Context, fsm.Dispatch) (*fsm.Event, error) {
		if calls.Add(1) == 3 {
			close(done)
		}
		return nil, nil
	})
	s.offered("1")
	stop := s.running()
	progress.Receive(t, "the delivery", done)
	stop()
	if seen := s.flush(); strings.Count(seen, "the store failed") != 3 || !strings.Contains(seen, "no route to host") {
		t.Errorf("seen:\n%s", seen)
	}
}

// TestCorruptRowIsItsOwnError: a row in a state that this program does not know is an
// error that names it; the others go on.
func TestCorruptRowIsItsOwnError(t *testing.T) {
	s := newStage(t)
	broken, whole := s.offered("1"), s.offered("2")
	s.vandalise("deal_update", "UPDATE deals SET status = 'GONE' WHERE deal_id = '"+broken+"'")
	s.run("tick 48h")
	s.run("step 3")
	s.wants("deal", whole, "EXPIRED", 3)
	for what, err := range map[string]error{
		"Get":  func() error { _, err := s.engine.Get(t.Context(), "deal", broken); return err }(),
		"Fire": func() error { _, err := s.engine.Fire(t.Context(), "deal", broken, deal.Accept{}, owner); return err }(),
	} {
		var corrupt *engine.CorruptError
		if !errors.As(err, &corrupt) || corrupt.ID != broken {
			t.Errorf("%s says %v", what, err)
		}
		var state *engine.UnknownStateError
		if !errors.As(err, &state) || !errors.Is(err, engine.ErrUnknownState) || state.ID != broken || state.State != "GONE" || state.Version != deal.MachineVersion {
			t.Errorf("%s says %v", what, err)
		}
	}
	list, err := s.engine.List(t.Context(), "deal", "", "", 0)
	if err != nil || len(list) != 2 || !errors.Is(list[0].Err, engine.ErrUnknownState) || list[0].ID != broken || list[1].Err != nil {
		t.Errorf("the list is %+v, %v", list, err)
	}
	if seen := s.flush(); !strings.Contains(seen, "task failed") || !strings.Contains(seen, broken) {
		t.Errorf("seen:\n%s", seen)
	}
}

// TestCorrelationEndToEnd: one id from the call to the last thing that it sets
// off.
func TestCorrelationEndToEnd(t *testing.T) {
	s := newStage(t)
	var dispatched []string
	s.handle(s.store, func(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
		dispatched = append(dispatched, d.Correlation)
		return nil, nil
	})
	call := advertiser
	call.Correlation = "request-1"
	id := fullID("1")
	o, err := s.engine.Create(t.Context(), "deal", id, deal.Create{OwnerID: 2, PriceNano: 100}, call)
	if err != nil || o.Correlation != "request-1" {
		t.Fatal(o.Correlation, err)
	}
	call.Correlation = "request-2"
	if _, err := s.engine.Fire(t.Context(), "deal", id, deal.SubmitOffer{}, call); err != nil {
		t.Fatal(err)
	}
	s.run("tick 48h")
	s.run("step 2")
	steps, err := s.engine.History(t.Context(), "deal", id, 0, 0)
	if err != nil || len(steps) != 3 {
		t.Fatal(steps, err)
	}
	for i, want := range []string{"request-1", "request-2", "request-2"} { // the deadline has that of the step that set it
		if steps[i].Correlation != want {
			t.Errorf("step %d has %q", i+1, steps[i].Correlation)
		}
	}
	if len(dispatched) == 0 {
		t.Error("nothing was dispatched")
	}
	for _, c := range dispatched {
		if c != "request-1" && c != "request-2" {
			t.Errorf("a dispatch has %q", c)
		}
	}
}

// storedMessage is what the database has of a message.
type storedMessage struct {
	state    string
	attempts int
	leased   bool
	until    string
}

// connect opens the stage's file once more, past the store.
func (s *stage) connect() *sql.DB {
	s.t.Helper()
	db, err := sql.Open("sqlite", s.path)
	if err != nil {
		s.t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	return db
}

// stored reads the one message of an effect.
func (s *stage) stored(effect string) storedMessage {
	db := s.connect()
	defer db.Close()
	var l storedMessage
	var until sql.NullString
	err := db.QueryRow("SELECT state, attempts, lease_token IS NOT NULL, lease_until FROM fsm_outbox WHERE effect = ?", effect).
		Scan(&l.state, &l.attempts, &l.leased, &until)
	if err != nil {
		s.t.Error(err)
	}
	l.until = until.String
	return l
}

// vandalise runs a statement that a trigger and the constraints would refuse.
func (s *stage) vandalise(trigger, statement string) {
	s.t.Helper()
	db := s.connect()
	defer db.Close()
	for _, stmt := range []string{"PRAGMA ignore_check_constraints = ON", "DROP TRIGGER " + trigger, statement} {
		if _, err := db.Exec(stmt); err != nil {
			s.t.Fatalf("%s: %v", stmt, err)
		}
	}
}
