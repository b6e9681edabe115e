package crash_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/pgtest"
	"github.com/fsmgen/fsmgen/internal/progress"
	"github.com/fsmgen/fsmgen/proptest/crash"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

const lease = time.Minute

var system = fsm.System()

// world is a database, a clock and what handlers did.
type world[Tx any] struct {
	*testing.T
	database crash.Database[Tx]
	sql      *sql.DB
	clock    *clock
	logs     logs
	ids      int

	patience time.Duration // HandlerTimeout of the engines; 0: the default
	lease    time.Duration // of the engines

	// What handlers do; nil: they succeed.
	handle func(ctx context.Context, d fsm.Dispatch) (*fsm.Event, error)
	inTx   func(ctx context.Context, tx Tx, d fsm.Dispatch) error
	done   func(d fsm.Dispatch) bool // what a query hears; nil: it happened

	mu    sync.Mutex
	calls []fsm.Dispatch
}

// clock is moved by the test.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func sqliteWorld(t *testing.T) *world[sqliteTx] {
	return newWorld(t, sqliteAt(filepath.Join(t.TempDir(), "world.db")))
}

func postgresWorld(t *testing.T) *world[postgresTx] {
	dsn := pgtest.DSN(t)
	return newWorld(t, postgresIn(dsn, pgtest.Schema(t, dsn)))
}

func newWorld[Tx any](t *testing.T, db crash.Database[Tx]) *world[Tx] {
	t.Helper()
	conn, err := db.SQL()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { must(t, conn.Close()) })
	return &world[Tx]{T: t, database: db, sql: conn, clock: &clock{now: epoch}, lease: lease}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// store opens a store, as another process has it.
func (w *world[Tx]) store() store.Store[Tx] {
	w.Helper()
	s, closeStore, err := w.database.Open(w.Context())
	must(w.T, err)
	w.Cleanup(func() { must(w.T, closeStore()) })
	return s
}

// engine returns a migrated engine on the database, as another process has it.
func (w *world[Tx]) engine(machines ...engine.Machine[Tx]) *engine.Engine[Tx] {
	w.Helper()
	return w.engineOn(w.store(), machines...)
}

func (w *world[Tx]) engineOn(s store.Store[Tx], machines ...engine.Machine[Tx]) *engine.Engine[Tx] {
	w.Helper()
	e := w.engineBefore(s, machines...)
	must(w.T, e.Migrate(w.Context()))
	return e
}

// engineBefore returns an engine that has not migrated.
func (w *world[Tx]) engineBefore(s store.Store[Tx], machines ...engine.Machine[Tx]) *engine.Engine[Tx] {
	w.Helper()
	var acting []engine.Machine[Tx]
	for _, m := range machines {
		acting = append(acting, actor[Tx]{m, w})
	}
	e, err := engine.New(s, engine.Config{
		Clock: w.clock, Lease: w.lease, PollInterval: 5 * time.Millisecond, Rand: func() float64 { return 0 },
		HandlerTimeout: w.patience, MaxPayload: 1 << 16, Logger: slog.New(slog.NewTextHandler(&w.logs, nil)),
	}, acting...)
	must(w.T, err)
	return e
}

// logs collects the log of engines.
type logs struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// line reports whether one line has all these parts.
func (l *logs) line(parts ...string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		if !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(line, p) }) {
			return true
		}
	}
	return false
}

// runUntil runs a worker until a condition holds.
func (w *world[Tx]) runUntil(e *engine.Engine[Tx], holds func() bool) {
	w.Helper()
	ctx, stop := context.WithCancel(w.Context())
	var running sync.WaitGroup
	running.Go(func() { must(w.T, e.Run(ctx)) })
	err := progress.Await(ctx, "what a worker was to bring about", func() (any, bool, error) {
		return len(w.seen()), holds(), nil
	})
	stop()
	running.Wait()
	if err != nil {
		w.Error(err)
	}
}

// awaitEmptyOutbox waits until every message is delivered. In between it calls meanwhile.
func (w *world[Tx]) awaitEmptyOutbox(meanwhile func()) {
	w.Helper()
	must(w.T, progress.Await(w.Context(), "an empty outbox", func() (any, bool, error) {
		left := w.count("fsm_outbox WHERE state <> 'delivered'")
		if left > 0 {
			meanwhile()
		}
		return left, left == 0, nil
	}))
}

// id returns another id.
func (w *world[Tx]) id() string {
	w.ids++
	return fmt.Sprintf("00000000-0000-4000-8000-%012d", w.ids)
}

// works runs Engine.Step until nothing is due.
func (w *world[Tx]) works(e *engine.Engine[Tx]) {
	w.Helper()
	for range 1000 {
		n, err := e.Step(w.Context())
		must(w.T, err)
		if n == 0 {
			return
		}
	}
	w.Fatal("it never comes to rest")
}

// in fails the test unless the record is in the state.
func (w *world[Tx]) in(e *engine.Engine[Tx], machine, id, state string) {
	w.Helper()
	s, err := e.Get(w.Context(), machine, id)
	must(w.T, err)
	if s.Record.StateName() != state {
		w.Fatalf("%s is in %s, want %s", machine, s.Record.StateName(), state)
	}
}

// transitions lists the transitions of the history.
func (w *world[Tx]) transitions(e *engine.Engine[Tx], machine, id string) (names []string) {
	w.Helper()
	rows, err := e.History(w.Context(), machine, id, 0, 0)
	must(w.T, err)
	for i, r := range rows {
		if r.Version != int64(i+1) {
			w.Fatalf("version %d is in place %d", r.Version, i+1)
		}
		names = append(names, r.Transition)
	}
	return names
}

func (w *world[Tx]) count(query string) (n int) {
	w.Helper()
	must(w.T, w.sql.QueryRow("SELECT count(*) FROM "+query).Scan(&n))
	return n
}

// called counts the calls of an effect's handler.
func (w *world[Tx]) called(effect string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range w.calls {
		if d.Effect == effect {
			n++
		}
	}
	return n
}

func (w *world[Tx]) seen() []fsm.Dispatch {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.calls)
}

// actor is a generated machine whose handlers do what the world says.
type actor[Tx any] struct {
	engine.Machine[Tx]
	world *world[Tx]
}

func (a actor[Tx]) note(d fsm.Dispatch) {
	a.world.mu.Lock()
	defer a.world.mu.Unlock()
	a.world.calls = append(a.world.calls, d)
}

func (a actor[Tx]) HandleTx(ctx context.Context, tx Tx, d fsm.Dispatch) error {
	a.note(d)
	if a.world.inTx == nil {
		return nil
	}
	return a.world.inTx(ctx, tx, d)
}

func (a actor[Tx]) Handle(ctx context.Context, d fsm.Dispatch) (*fsm.Event, error) {
	a.note(d)
	if a.world.handle == nil {
		return nil, nil
	}
	return a.world.handle(ctx, d)
}

// Query answers as the calls say: an effect has happened once it was handled.
func (a actor[Tx]) Query(_ context.Context, d fsm.Dispatch) (*fsm.Event, bool, error) {
	if a.world.done != nil {
		return nil, a.world.done(d), nil
	}
	handled := slices.ContainsFunc(a.world.seen(), func(c fsm.Dispatch) bool { return c.ID == d.ID })
	return nil, handled, nil
}

// fired returns an event as the answer of a handler.
func fired(p fsm.Payload) (*fsm.Event, error) {
	e, err := fsm.EventOf(p)
	return &e, err
}

// firing is one Fire in a race.
type firing func() (engine.Outcome, error)

// race runs all firings at the same time, and returns their results in the same order.
func race(firings ...firing) (outcomes []engine.Outcome, errs []error) {
	outcomes, errs = make([]engine.Outcome, len(firings)), make([]error, len(firings))
	begin := make(chan struct{})
	var wg sync.WaitGroup
	for i, f := range firings {
		wg.Go(func() {
			<-begin
			outcomes[i], errs[i] = f()
		})
	}
	close(begin)
	wg.Wait()
	return outcomes, errs
}

// won returns the indices without an error. Any error but a conflict or a rejection fails
// the test.
func won(t testing.TB, errs []error) (places []int) {
	t.Helper()
	for i, err := range errs {
		var x *fsm.Rejection
		switch {
		case err == nil:
			places = append(places, i)
		case !errors.Is(err, store.ErrConflict) && !errors.As(err, &x):
			t.Errorf("unexpected: %v", err)
		}
	}
	return places
}

// faultyStore fails or waits where the test says.
type faultyStore[Tx any] struct {
	store.Store[Tx]
	save    func(commits []store.Commit) error
	settle  func(s store.Settlement) error
	claimed func(tasks []store.Task)
}

func (s *faultyStore[Tx]) Save(ctx context.Context, tx Tx, commits []store.Commit) error {
	if s.save != nil {
		if err := s.save(commits); err != nil {
			return err
		}
	}
	return s.Store.Save(ctx, tx, commits)
}

func (s *faultyStore[Tx]) Settle(ctx context.Context, tx Tx, t store.Settlement) error {
	if s.settle != nil {
		if err := s.settle(t); err != nil {
			return err
		}
	}
	return s.Store.Settle(ctx, tx, t)
}

func (s *faultyStore[Tx]) Claim(ctx context.Context, c store.Claim) ([]store.Task, error) {
	tasks, err := s.Store.Claim(ctx, c)
	if s.claimed != nil && len(tasks) > 0 {
		s.claimed(tasks)
	}
	return tasks, err
}

// contains reports whether an error says something.
func contains(err error, text string) bool { return err != nil && strings.Contains(err.Error(), text) }
