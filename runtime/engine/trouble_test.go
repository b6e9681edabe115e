package engine_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsmgen/fsmgen/generated/activate"
	"github.com/fsmgen/fsmgen/generated/unpack"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/internal/progress"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// extracting brings a record of unpack to the state extract-layers, whose work is
// at_most_once, with an engine whose handler of it is f.
func (s *stage) extracting(db engine.Store[*sql.Tx], f func(context.Context) (*fsm.Event, error)) string {
	s.t.Helper()
	handle := func(ctx context.Context, d fsm.Dispatch) (*fsm.Event, error) {
		switch d.Effect {
		case "check_unpacked":
			e := parseEvent(`CHECKED {"device_id":"00000007","row_verified":false,"device_exists":false}`)
			return &e, nil
		case "create_device":
			e := parseEvent(`DEVICE_READY {"device_path":"/dev/7"}`)
			return &e, nil
		case "extract_layers":
			return f(ctx)
		}
		return nil, nil
	}
	never := 0
	m := device{handling{unpack.Define[*sql.Tx](nil, unpack.DefaultParams()), handle}, func(int) (bool, error) { return false, nil }, &never, nil}
	var err error
	if s.engine, err = engine.New[*sql.Tx](db, s.config, losing{m, unpack.Define[*sql.Tx](nil, unpack.DefaultParams())}, activate.Define[*sql.Tx](nil)); err != nil {
		s.t.Fatal(err)
	}
	run, err := fsm.ParseUUID(fullID("d"))
	if err == nil {
		_, err = s.engine.Create(s.t.Context(), "unpack", fullID("1"), unpack.Start{
			ImageID: "i", DownloadRun: run, LocalPath: "/i", Checksum: "c", PoolName: "p",
		}, engine.Call{By: fsm.System()})
	}
	for n := 0; err == nil && n < 2; n++ {
		_, err = s.engine.Step(s.t.Context())
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return fullID("1")
}

// losing is a machine with the lost events of its table.
type losing struct {
	device
	table engine.Machine[*sql.Tx]
}

func (l losing) LostEvent(effect string) *fsm.Event { return l.table.LostEvent(effect) }

// TestWhatAFailureSaysAboutTheOutcome: an at_most_once effect has failed only where its
// handler can know that; else it is lost.
func TestWhatAFailureSaysAboutTheOutcome(t *testing.T) {
	for _, tt := range []struct {
		name string
		f    func(ctx context.Context) error
		last string // event of the history
	}{
		{"the handler says that it failed", func(context.Context) error { return errors.New("no space") }, "EXTRACT_FAILED"},
		{"the handler does not know", func(context.Context) error { return engine.Unknown(errors.New("no answer")) }, "EXTRACT_LOST"},
		{"its own time is over", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, "EXTRACT_LOST"},
		{"its own time is over, and it hides why", func(ctx context.Context) error { <-ctx.Done(); return errors.New("i/o timeout") }, "EXTRACT_LOST"},
		{"its own time is over, and it is certain", func(ctx context.Context) error {
			<-ctx.Done()
			return &engine.PermanentError{Err: errors.New("nothing was sent")}
		}, "EXTRACT_FAILED"},
		{"the time of a call that it made is over", func(ctx context.Context) error {
			return fmt.Errorf("call: %w", context.DeadlineExceeded)
		}, "EXTRACT_LOST"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				s.config.HandlerTimeout = 50 * time.Millisecond
				id := s.extracting(s.store, func(ctx context.Context) (*fsm.Event, error) { return nil, tt.f(ctx) })
				if _, err := s.engine.Step(t.Context()); err != nil {
					t.Fatal(err)
				}
				steps, err := s.engine.History(t.Context(), "unpack", id, 0, 0)
				if err != nil || steps[len(steps)-1].Event != tt.last {
					t.Errorf("the history is %+v, %v", steps, err)
				}
			})
		})
	}
}

// outage is a store that fails while it lasts, or says nothing.
type outage struct {
	engine.Store[*sql.Tx]
	lasts  func() bool
	silent bool
}

func (o outage) InTx(ctx context.Context, f func(*sql.Tx) error) error {
	if o.lasts() {
		if o.silent {
			<-ctx.Done()
		}
		return store.Failed("begin", errors.New("no route to host"))
	}
	return o.Store.InTx(ctx, f)
}

// TestAnOutcomeOutlivesAnOutage: what a handler has done is stored when the store is
// back, however many attempts to store it have failed.
func TestAnOutcomeOutlivesAnOutage(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	var tries atomic.Int64
	var away atomic.Bool
	db := outage{s.store, func() bool { return away.Load() && tries.Add(1) <= 10 }, false}
	id := s.extracting(db, func(context.Context) (*fsm.Event, error) {
		away.Store(true)
		e := parseEvent(`EXTRACTED {"layers":1}`)
		return &e, nil
	})
	if _, err := s.engine.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	steps, err := s.engine.History(t.Context(), "unpack", id, 4, 0)
	if err != nil || len(steps) > 0 && steps[0].Event == "EXTRACT_LOST" || tries.Load() <= 10 {
		t.Errorf("after %d tries the history goes on by %+v, %v", tries.Load(), steps, err)
	}
	if found, err := s.engine.Get(t.Context(), "unpack", id); err != nil || found.Record.StateName() == "extract-layers" {
		t.Errorf("the record is %+v, %v", found.Record, err)
	}
}

// TestTheLeaseIsKeptUntilTheOutcomeIsStored: while the store does not take the outcome
// it may take a renewal.
func TestTheLeaseIsKeptUntilTheOutcomeIsStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.config.Lease = 10 * time.Second // of the bubble's clock: seven renewals in it
		s.offered("1")
		var handled, renewed atomic.Bool
		s.handle(&settling{s.store, func(done store.Settlement) error {
			switch {
			case !done.Renew.IsZero():
				if handled.Load() {
					renewed.Store(true)
				}
			case done.MessageID != "" && handled.Load() && !renewed.Load():
				return store.Failed("settle", errors.New("the disk is full"))
			}
			return nil
		}}, func(context.Context, fsm.Dispatch) (*fsm.Event, error) {
			handled.Store(true)
			return nil, nil
		})
		if _, err := s.engine.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
		if l := s.stored("notify_owner"); !renewed.Load() || l.state != "delivered" {
			t.Errorf("renewed: %v; the message is %+v", renewed.Load(), l)
		}
	})
}

// settling is a store in whose way a test puts something before a settlement.
type settling struct {
	engine.Store[*sql.Tx]
	before func(store.Settlement) error
}

func (g *settling) Settle(ctx context.Context, tx *sql.Tx, done store.Settlement) error {
	if err := g.before(done); err != nil {
		return err
	}
	return g.Store.Settle(ctx, tx, done)
}

func (g *settling) Save(ctx context.Context, tx *sql.Tx, commits []store.Commit) error {
	for _, c := range commits {
		if c.Task == nil {
			continue
		}
		if err := g.before(*c.Task); err != nil {
			return err
		}
	}
	return g.Store.Save(ctx, tx, commits)
}

// TestALockedRowKeepsNoOtherFromBeingStored: what waits for the lock does so by itself.
func TestALockedRowKeepsNoOtherFromBeingStored(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for n := range 3 {
		s.offered(fmt.Sprint(n + 1))
	}
	db := &locked{Store: s.store, free: make(chan struct{})}
	s.handle(db, func(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
		if d.Effect == "notify_owner" && d.Record == fullID("1") {
			db.lock(d.ID)
		}
		return nil, nil
	})
	stop := s.running()
	s.settled(fullID("2"))
	s.settled(fullID("3"))
	close(db.free)
	s.settled(fullID("1"))
	stop()
}

// locked is a store in which something else has locked the row of a message: who waits
// briefly fails, and who waits, waits.
type locked struct {
	engine.Store[*sql.Tx]
	mu      sync.Mutex
	message string
	free    chan struct{}
}

func (l *locked) lock(message string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.message = message
}

func (l *locked) has(done *store.Settlement) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.free:
		return false
	default:
		return done != nil && done.MessageID == l.message && done.Renew.IsZero()
	}
}

func (l *locked) Save(ctx context.Context, tx *sql.Tx, commits []store.Commit) error {
	for _, c := range commits {
		if l.has(c.Task) {
			if commits[0].ShortLockWait {
				return engine.ErrConflict
			}
			return errWaits
		}
	}
	return l.Store.Save(ctx, tx, commits)
}

// InTx does not hold the one connection that writes while a settlement waits.
func (l *locked) InTx(ctx context.Context, f func(*sql.Tx) error) error {
	err := errWaits
	for errors.Is(err, errWaits) {
		if err = l.Store.InTx(ctx, f); errors.Is(err, errWaits) {
			<-l.free
		}
	}
	return err
}

var errWaits = errors.New("it waits for a lock")

func (l *locked) Settle(ctx context.Context, tx *sql.Tx, done store.Settlement) error {
	if l.has(&done) {
		if done.ShortLockWait {
			return engine.ErrConflict
		}
		return errWaits
	}
	return l.Store.Settle(ctx, tx, done)
}

// TestAHandlerIsToldWhatBecameOfItsTask: its context ends when the state that asked
// for the work was left, and when its lease could not be renewed before it ended.
func TestAHandlerIsToldWhatBecameOfItsTask(t *testing.T) {
	for _, tt := range []struct {
		name  string
		after func(s *stage, id string, away *atomic.Bool)
		cause error
		event string // that the history ends with
		// silent: the store does not even fail.
		silent bool
	}{
		{"its state was left", func(s *stage, id string, _ *atomic.Bool) {
			e := parseEvent(`EXTRACT_FAILED {"cause":"a person"}`)
			if _, err := s.engine.Fire(s.t.Context(), "unpack", id, e, engine.Call{By: fsm.System()}); err != nil {
				s.t.Error(err)
			}
		}, engine.ErrStateLeft, "EXTRACT_FAILED", false},
		{"its lease could not be renewed", func(_ *stage, _ string, away *atomic.Bool) {
			away.Store(true)
		}, store.ErrLeaseLost, "DEVICE_READY", false},
		{"its lease could not be renewed, and nobody says why", func(_ *stage, _ string, away *atomic.Bool) {
			away.Store(true)
		}, store.ErrLeaseLost, "DEVICE_READY", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				s.config.Lease = 2 * time.Second // of the bubble's clock: seven renewals in it
				var away atomic.Bool
				began, told := make(chan struct{}), make(chan error, 1)
				id := s.extracting(outage{s.store, away.Load, tt.silent}, func(ctx context.Context) (*fsm.Event, error) {
					close(began)
					<-ctx.Done()
					told <- context.Cause(ctx)
					return nil, ctx.Err()
				})
				var step sync.WaitGroup
				step.Go(func() {
					if _, err := s.engine.Step(t.Context()); err != nil {
						t.Error(err)
					}
				})
				progress.Receive(t, "the call", began)
				tt.after(s, id, &away)
				if cause := progress.Receive(t, "the end of the handler's context", told); !errors.Is(cause, tt.cause) {
					t.Errorf("the context ended by %v", cause)
				}
				step.Wait()
				away.Store(false)
				steps, err := s.engine.History(t.Context(), "unpack", id, 0, 0)
				if err != nil || steps[len(steps)-1].Event != tt.event {
					t.Errorf("the history is %+v, %v", steps, err)
				}
			})
		})
	}
}

// TestAClaimThatIsUnderWayIsFinished: Run is stopped after the store has granted a
// claim and before it has said so.
func TestAClaimThatIsUnderWayIsFinished(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.offered("1")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var delivered atomic.Int64
	s.handle(stopping{s.store, stop}, func(context.Context, fsm.Dispatch) (*fsm.Event, error) {
		delivered.Add(1)
		return nil, nil
	})
	if err := s.engine.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if l := s.stored("notify_owner"); delivered.Load() == 0 || l.state != "delivered" {
		t.Errorf("%d effects were carried out; the message is %+v", delivered.Load(), l)
	}
}

// stopping is a store that grants a claim, and stops the worker before it says so.
type stopping struct {
	engine.Store[*sql.Tx]
	stop func()
}

func (g stopping) Claim(ctx context.Context, c store.Claim) ([]store.Task, error) {
	tasks, err := g.Store.Claim(context.WithoutCancel(ctx), c)
	g.stop()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return tasks, err
}

// TestAClaimThatMayHaveBeenGrantedIsAskedForAgain: the store has granted it and its
// answer was lost. No other worker attempts the messages before the lease is over, and
// an at_most_once effect would be lost though no handler began.
func TestAClaimThatMayHaveBeenGrantedIsAskedForAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.config.PollInterval = time.Millisecond
	s.offered("1")
	var delivered atomic.Int64
	done := make(chan struct{})
	s.handle(&swallowing{Store: s.store}, func(context.Context, fsm.Dispatch) (*fsm.Event, error) {
		if delivered.Add(1) == 3 {
			close(done)
		}
		return nil, nil
	})
	stop := s.running()
	progress.Receive(t, "the delivery", done)
	stop()
	if l := s.stored("notify_owner"); l.state != "delivered" || l.attempts != 1 {
		t.Errorf("the message is %+v", l)
	}
}

// swallowing is a store of which the first answer to a claim is lost.
type swallowing struct {
	engine.Store[*sql.Tx]
	once sync.Once
}

func (g *swallowing) Claim(ctx context.Context, c store.Claim) (tasks []store.Task, err error) {
	tasks, err = g.Store.Claim(ctx, c)
	g.once.Do(func() { tasks, err = nil, store.Failed("claim", errors.New("connection reset by peer")) })
	return tasks, err
}

// TestAnAnswerThatMetAConflictLocksItsRecord: it is stored by the second try, however
// many others write.
func TestAnAnswerThatMetAConflictLocksItsRecord(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	var queries []bool // whether each load of the answer locked
	db := &loading{Store: s.store}
	s.handle(db, func(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
		if d.Effect != "generate_deposit_address" {
			return nil, nil
		}
		db.before = func(q []store.Query) {
			for _, q := range q {
				if q.Task != nil && q.Task.MessageID == d.ID {
					queries = append(queries, q.Lock)
				}
			}
		}
		e := parseEvent(`ADDRESS_READY {"deposit_address":"EQ1"}`)
		return &e, nil
	})
	id := s.offered("1")
	if _, err := s.engine.Fire(t.Context(), "deal", id, deal.Accept{}, owner); err != nil {
		t.Fatal(err)
	}
	db.conflicts = 1
	for range 3 {
		if _, err := s.engine.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	s.wants("deal", id, "AWAITING_PAYMENT", 4)
	if len(queries) != 2 || queries[0] || !queries[1] {
		t.Errorf("the loads of the answer locked: %v", queries)
	}
}

// loading is a store in whose way a test puts something before a load, and whose
// first saves of an answer are too late.
type loading struct {
	engine.Store[*sql.Tx]
	before    func([]store.Query)
	conflicts int
}

func (l *loading) Load(ctx context.Context, tx *sql.Tx, queries []store.Query) ([]store.Row, error) {
	if l.before != nil {
		l.before(queries)
	}
	return l.Store.Load(ctx, tx, queries)
}

func (l *loading) Save(ctx context.Context, tx *sql.Tx, commits []store.Commit) error {
	if l.before != nil && l.conflicts > 0 && len(commits[0].Steps) > 0 {
		l.conflicts--
		return &engine.ConflictError{Machine: commits[0].Machine, ID: commits[0].ID, Expected: commits[0].Steps[0].Version - 1}
	}
	return l.Store.Save(ctx, tx, commits)
}
