package engine_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/internal/progress"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// watched is a real store that tells what goes through it, and never that there
// is work.
type watched struct {
	engine.Store[*sql.Tx]
	claims  atomic.Int64
	claimed atomic.Int64 // effects that a claim found
	loads   atomic.Int64
	looked  chan struct{} // closed by the first claim
	once    sync.Once
}

func (w *watched) Claim(ctx context.Context, c store.Claim) ([]store.Task, error) {
	tasks, err := w.Store.Claim(ctx, c)
	for _, t := range tasks {
		if t.Kind == store.TaskEffect {
			w.claimed.Add(1)
		}
	}
	w.claims.Add(1)
	w.once.Do(func() { close(w.looked) })
	return tasks, err
}

func (w *watched) Wait(ctx context.Context, _ time.Duration) error {
	<-ctx.Done()
	return ctx.Err()
}

func (w *watched) Load(ctx context.Context, tx *sql.Tx, queries []store.Query) ([]store.Row, error) {
	w.loads.Add(1)
	return w.Store.Load(ctx, tx, queries)
}

func (s *stage) watched() *watched { return &watched{Store: s.store, looked: make(chan struct{})} }

// looked returns when a worker has made its first claim and its hands are free.
func (s *stage) looked(inner *watched) {
	s.t.Helper()
	progress.Receive(s.t, "the first claim", inner.looked)
	progress.Until(s.t, "the slots of a claim that found nothing", func() (any, bool) { return nil, s.engine.AtRest() })
}

// TestWhatAStepAsksForIsTakenAsItIsStored: a worker with a free hand begins with
// it after the commit, and so do those after it; no claim has to look for it, nor to
// read the record for the answer.
func TestWhatAStepAsksForIsTakenAsItIsStored(t *testing.T) {
	s := newStage(t)
	inner, r := s.watched(), newRegistered(s)
	r.open(inner)
	stop := s.running()
	s.looked(inner)
	id := r.register()
	progress.Receive(t, "the registration", r.registered)
	stop()
	s.wants("registration", id, "registered", 6)
	if n := inner.claimed.Load(); n != 0 {
		t.Errorf("%d effects had to be looked for", n)
	}
	if n := inner.loads.Load(); n != 1 { // for REGISTER
		t.Errorf("records were read %d times, want once", n)
	}
}

// TestARaisedEventIsTakenAtOnce: with TwoStep it is a deadline, which a worker of
// the process looks for right after the commit.
func TestARaisedEventIsTakenAtOnce(t *testing.T) {
	s := newStage(t)
	s.config.TwoStep = true
	inner, r := s.watched(), newRegistered(s)
	r.open(inner)
	stop := s.running()
	s.looked(inner)
	r.register()
	progress.Receive(t, "the registration", r.registered)
	stop()
}

// TestAnAnswerToARecordThatHasMovedOn: two effects of one step answer at once; the
// second finds a record that is not as its step left it, and reads it again.
func TestAnAnswerToARecordThatHasMovedOn(t *testing.T) {
	s := newStage(t)
	inner, r := s.watched(), newRegistered(s)
	r.open(inner)
	stop := s.running()
	id := r.register()
	progress.Receive(t, "the registration", r.registered)
	if _, err := s.engine.Fire(t.Context(), "registration", id, registration.Deregister{}, r.by); err != nil {
		t.Fatal(err)
	}
	progress.Receive(t, "the deregistration", r.deregistered)
	stop()
	s.wants("registration", id, "deregistered", 10)
}

// TestBusySlotsLeaveTheMessageToTheNextClaim: what a worker has no hand for waits in the
// outbox, and is claimed as soon as there is one.
func TestBusySlotsLeaveTheMessageToTheNextClaim(t *testing.T) {
	s := newStage(t)
	s.config.Concurrency = 1
	inner, free, done := s.watched(), make(chan struct{}), make(chan struct{})
	var calls atomic.Int64
	begun := make(chan string, 10)
	s.handle(inner, func(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
		begun <- d.Record
		<-free
		if calls.Add(1) == 2 {
			close(done)
		}
		return nil, nil
	})
	stop := s.running()
	s.looked(inner)
	first := s.offered("1")
	if got := <-begun; got != first {
		t.Fatalf("it began with %s", got)
	}
	second := s.offered("2")
	db := s.connect()
	defer db.Close()
	var state string
	if err := db.QueryRow("SELECT state FROM fsm_outbox WHERE record_id = ? AND state <> 'delivered' ORDER BY version, seq", second).Scan(&state); err != nil || state != "pending" {
		t.Errorf("without a hand for it the effect is %s, %v", state, err)
	}
	close(free)
	progress.Receive(t, "the second effect", done)
	stop()
	if inner.claimed.Load() == 0 {
		t.Error("nobody claimed the second effect")
	}
}

// TestATransactionThatFailsFreesItsSlots: more often than there are hands.
func TestATransactionThatFailsFreesItsSlots(t *testing.T) {
	s := newStage(t)
	s.config.Concurrency = 1
	inner, begun := s.watched(), make(chan int64, 1)
	var once sync.Once
	broken := times(5, func() error { return store.Failed("save", errors.New("no route to host")) })
	s.handle(&faulty{Store: inner, save: func(context.Context, *sql.Tx) error { return broken() }}, func(context.Context, fsm.Dispatch) (*fsm.Event, error) {
		once.Do(func() { begun <- inner.claimed.Load() })
		return nil, nil
	})
	stop := s.running()
	s.looked(inner)
	for i := range 5 {
		_, err := s.engine.Create(t.Context(), "deal", fullID("1"), deal.Create{OwnerID: 2, PriceNano: 100}, advertiser)
		if !errors.Is(err, engine.ErrStore) {
			t.Fatalf("creation %d: %v", i, err)
		}
	}
	s.offered("1")
	// A hand that is lost can't even claim it.
	if n := progress.Receive(t, "the effect", begun); n != 0 {
		t.Errorf("%d effects had to be looked for: no hand was free", n)
	}
	stop()
}

// TestTransact: events and the caller's own writes commit together, or not at all.
func TestTransact(t *testing.T) {
	s := newStage(t)
	inner := s.watched()
	done := make(chan struct{})
	var once sync.Once
	s.handle(inner, func(context.Context, fsm.Dispatch) (*fsm.Event, error) {
		once.Do(func() { close(done) })
		return nil, nil
	})
	offer := func(id string, more func(u *engine.Tx[*sql.Tx]) error) error {
		return s.engine.Transact(t.Context(), func(ctx context.Context, u *engine.Tx[*sql.Tx]) error {
			if _, err := u.Create(ctx, "deal", id, deal.Create{OwnerID: 2, PriceNano: 100}, advertiser); err != nil {
				return err
			}
			if _, err := u.Fire(ctx, "deal", id, deal.SubmitOffer{}, advertiser); err != nil {
				return err
			}
			if _, err := u.Tx.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS mine (deal text)"); err != nil {
				return err
			}
			if _, err := u.Tx.ExecContext(ctx, "INSERT INTO mine VALUES (?)", id); err != nil {
				return err
			}
			return more(u)
		})
	}
	first, second, third := fullID("1"), fullID("2"), fullID("3")
	if err := offer(first, func(u *engine.Tx[*sql.Tx]) error {
		_, err := u.Fire(t.Context(), "deal", first, deal.Accept{}, advertiser)
		var refused *fsm.Rejection
		if !errors.As(err, &refused) {
			t.Errorf("the advertiser accepts: %v", err)
		}
		return nil // a rejection ends nothing
	}); err != nil {
		t.Fatal(err)
	}
	if n := inner.loads.Load(); n != 0 {
		t.Errorf("records that the unit made were read %d times", n)
	}
	s.wants("deal", first, "OFFER_PENDING", 2)

	// What could not be written is not passed over.
	if err := s.engine.Transact(t.Context(), func(ctx context.Context, u *engine.Tx[*sql.Tx]) error {
		if _, err := u.Create(ctx, "deal", third, deal.Create{OwnerID: 2, PriceNano: 100}, advertiser); err != nil {
			return err
		}
		_, _ = u.Create(ctx, "deal", first, deal.Create{OwnerID: 2, PriceNano: 100}, advertiser)
		return nil
	}); !errors.Is(err, engine.ErrExists) {
		t.Errorf("the error is %v", err)
	}

	stop := s.running()
	progress.Receive(t, "the first effect", done)
	mine := errors.New("mine")
	if err := offer(second, func(*engine.Tx[*sql.Tx]) error { return mine }); !errors.Is(err, mine) {
		t.Errorf("the error is %v", err)
	}
	func() {
		defer func() {
			if v := recover(); v != "mine" {
				t.Errorf("the panic is %v", v)
			}
		}()
		_ = offer(third, func(*engine.Tx[*sql.Tx]) error { panic("mine") })
	}()
	stop()
	for _, id := range []string{second, third} {
		if _, err := s.engine.Get(t.Context(), "deal", id); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("deal %s: %v", id, err)
		}
	}
	db := s.connect()
	defer db.Close()
	var n int
	if err := db.QueryRow("SELECT count(*) FROM mine").Scan(&n); err != nil || n != 1 {
		t.Errorf("the caller's table has %d rows, %v", n, err)
	}
}

// TestAUnitThatLeavesTheState: an effect that the unit asked for and whose state it
// left again never begins, although a worker had it in hand.
func TestAUnitThatLeavesTheState(t *testing.T) {
	s := newStage(t)
	inner, r := s.watched(), newRegistered(s)
	r.open(inner)
	stop := s.running()
	s.looked(inner)
	id := fullID("1")
	if err := s.engine.Transact(t.Context(), func(ctx context.Context, u *engine.Tx[*sql.Tx]) error {
		_, err := u.Create(ctx, "registration", id, registration.Create{NodeID: "n1"}, r.by)
		if err == nil {
			_, err = u.Fire(ctx, "registration", id, r.payload(), r.by)
		}
		if err == nil {
			_, err = u.Fire(ctx, "registration", id, registration.FatalError{}, engine.Call{By: fsm.System()})
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.engine.Fire(t.Context(), "registration", id, registration.Retry{}, r.by); err != nil {
		t.Fatal(err)
	}
	progress.Receive(t, "the registration", r.registered)
	stop()
	if n := r.calls.Load(); n != 3 {
		t.Errorf("%d effects were carried out, want the three of the second turn", n)
	}
	s.wants("registration", id, "registered", 8)
}

// TestStopDoesNotWaitForATransaction: a unit under way has hands reserved, and may
// take its time.
func TestStopDoesNotWaitForATransaction(t *testing.T) {
	s := newStage(t)
	inner := s.watched()
	s.handle(inner, func(context.Context, fsm.Dispatch) (*fsm.Event, error) { return nil, nil })
	stop := s.running()
	s.looked(inner)
	id := fullID("1")
	err := s.engine.Transact(t.Context(), func(ctx context.Context, u *engine.Tx[*sql.Tx]) error {
		_, err := u.Create(ctx, "deal", id, deal.Create{OwnerID: 2, PriceNano: 100}, advertiser)
		stop()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	s.wants("deal", id, "DRAFT", 1)
}

// TestNewsWhileEveryHandIsBusy: what was told while there was no hand for it is
// claimed when there is one, and not after everything that comes of the others.
func TestNewsWhileEveryHandIsBusy(t *testing.T) {
	s := newStage(t)
	s.config.Concurrency = 1
	inner, r := s.watched(), newRegistered(s)
	begun, free := make(chan struct{}, 10), make(chan struct{})
	r.before = func() { begun <- struct{}{}; <-free }
	r.open(inner)
	stop := s.running()
	s.looked(inner)
	r.register()
	progress.Receive(t, "the first effect", begun)
	looks := inner.claims.Load()
	second := fullID("2")
	var outcomes [2]engine.Outcome
	if err := s.store.InTx(t.Context(), func(tx *sql.Tx) (err error) {
		outcomes[0], err = s.engine.CreateTx(t.Context(), tx, "registration", second, registration.Create{NodeID: "n2"}, r.by)
		if err == nil {
			outcomes[1], err = s.engine.FireTx(t.Context(), tx, "registration", second, r.payload(), r.by)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	s.engine.Committed(t.Context(), outcomes[:]...)
	progress.Until(t, "a claim of deadlines, once it hears of it", func() (any, bool) { return nil, inner.claims.Load() != looks })
	close(free)
	progress.Receive(t, "one registration", r.registered)
	progress.Receive(t, "the other registration", r.registered)
	stop()
}

// TestACommitOfTheCallersWakesTheWorker: what FireTx asked for is begun when
// Committed says so, and not a PollInterval later.
func TestACommitOfTheCallersWakesTheWorker(t *testing.T) {
	s := newStage(t)
	inner, done := s.watched(), make(chan struct{})
	var once sync.Once
	s.handle(inner, func(context.Context, fsm.Dispatch) (*fsm.Event, error) {
		once.Do(func() { close(done) })
		return nil, nil
	})
	db := s.connect()
	defer db.Close()
	stop := s.running()
	s.looked(inner)
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	o, err := s.engine.CreateTx(t.Context(), tx, "deal", fullID("1"), deal.Create{OwnerID: 2, PriceNano: 100}, advertiser)
	if err := errors.Join(err, tx.Commit()); err != nil {
		t.Fatal(err)
	}
	s.engine.Committed(t.Context(), o)
	progress.Receive(t, "the effect", done)
	stop()
}

// TestASilentStoreIsGivenUp: a claim that gets no answer is tried again.
func TestASilentStoreIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.config.StoreTimeout, s.config.PollInterval = 20*time.Millisecond, time.Millisecond
		done := make(chan struct{})
		var once sync.Once
		inner := &silent{Store: s.store}
		inner.left.Store(3)
		s.handle(inner, func(context.Context, fsm.Dispatch) (*fsm.Event, error) {
			once.Do(func() { close(done) })
			return nil, nil
		})
		s.offered("1")
		stop := s.running()
		progress.Receive(t, "the delivery", done)
		stop()
		if seen := s.flush(); strings.Count(seen, "the store failed") < 3 {
			t.Errorf("seen:\n%s", seen)
		}
	})
}

// silent is a store whose first claims get no answer.
type silent struct {
	engine.Store[*sql.Tx]
	left atomic.Int64
}

func (s *silent) Claim(ctx context.Context, c store.Claim) ([]store.Task, error) {
	if s.left.Add(-1) >= 0 {
		<-ctx.Done()
		return nil, store.Failed("claim", context.Cause(ctx))
	}
	return s.Store.Claim(context.WithoutCancel(ctx), c)
}

// registered is a registration whose effects succeed at once; the two
// deregistrations wait for each other first.
type registered struct {
	*stage
	by                       engine.Call
	registered, deregistered chan struct{}
	both                     sync.WaitGroup
	calls                    atomic.Int64
	before                   func() // each effect
}

func newRegistered(s *stage) *registered {
	r := &registered{
		stage: s, by: engine.Call{By: registration.ByExternal("ann").Caller()},
		registered: make(chan struct{}, 2), deregistered: make(chan struct{}), before: func() {},
	}
	r.both.Add(2)
	s.config.Metrics = func(m engine.Metric) {
		switch m.Name {
		case "registration_complete":
			r.registered <- struct{}{}
		case "deregistration_complete":
			close(r.deregistered)
		}
	}
	return r
}

func (r *registered) open(inner engine.Store[*sql.Tx]) {
	r.t.Helper()
	answers := map[string]string{
		"validate_payload":             `VALIDATION_PASSED {"validation_result":"passed"}`,
		"postgres.upsert_registration": `POSTGRES_SUCCEEDED {"postgres_applied":true}`,
		"consul.register":              `CONSUL_SUCCEEDED {"consul_applied":true}`,
		"consul.deregister":            `CONSUL_DEREGISTERED {"consul_cleanup":"removed"}`,
		"postgres.delete_registration": `POSTGRES_DEREGISTERED {"postgres_cleanup":"removed"}`,
	}
	handle := func(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
		r.calls.Add(1)
		r.before()
		if strings.Contains(d.Effect, "de") && d.Effect != "validate_payload" {
			r.both.Done()
			r.both.Wait()
		}
		e := parseEvent(answers[d.Effect])
		return &e, nil
	}
	var err error
	r.engine, err = engine.New[*sql.Tx](inner, r.config, handling{registration.Define[*sql.Tx](nil, registration.DefaultParams()), handle})
	if err != nil {
		r.t.Fatal(err)
	}
}

// register begins a registration.
func (r *registered) register() (id string) {
	r.t.Helper()
	id = fullID("1")
	_, err := r.engine.Create(r.t.Context(), "registration", id, registration.Create{NodeID: "n1"}, r.by)
	if err == nil {
		_, err = r.engine.Fire(r.t.Context(), "registration", id, r.payload(), r.by)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

func (r *registered) payload() registration.Register {
	return registration.Register{
		Payload: fsm.Some(fsm.JSON(`{}`)), DeploymentID: fsm.Some("d"), Environment: fsm.Some("e"), NetworkID: fsm.Some("n"),
		ConsulServiceID: fsm.Some("s"), ConsulServiceName: fsm.Some("s"), PostgresRecord: fsm.Some(fsm.JSON(`{}`)),
	}
}
