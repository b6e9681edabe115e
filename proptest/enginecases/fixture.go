package enginecases

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/generated/wal"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/proptest/storetest"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// fixture is an engine over the store and machines of a storetest.Fixture. The case sets
// the handlers and moves the clock.
type fixture[Tx any] struct {
	*storetest.Fixture[Tx]
	engine   *engine.Engine[Tx]
	config   engine.Config
	handlers handlerSet[Tx]
	log      safeBuffer

	mu      sync.Mutex
	now     time.Time
	tokens  int
	metrics map[string]int // how often each was measured
}

func newFixture[Tx any](t *testing.T, open storetest.Open[Tx]) *fixture[Tx] {
	t.Helper()
	f := &fixture[Tx]{Fixture: storetest.NewFixture(t, open), now: storetest.StartTime, metrics: map[string]int{}}
	f.handlers.funcs = map[string]handlerFunc[Tx]{}
	f.config = engine.Config{
		Clock: f, Worker: "w", Lease: time.Minute, Rand: func() float64 { return 0.5 }, NewToken: f.token,
		Logger: slog.New(slog.NewTextHandler(&f.log, nil)), Metrics: f.measure,
	}
	f.engine = f.newEngine(f.Store, f.config)
	return f
}

// machines lists the machines of the cases.
func (f *fixture[Tx]) machines() []engine.Machine[Tx] {
	return []engine.Machine[Tx]{f.Activates, f.Unpacks, f.Downloads, f.Deals, f.WALs, f.Registrations}
}

// newEngine returns an engine as a process that starts has it.
func (f *fixture[Tx]) newEngine(db store.Store[Tx], c engine.Config) *engine.Engine[Tx] {
	f.Helper()
	var machines []engine.Machine[Tx]
	for _, m := range f.machines() {
		machines = append(machines, handled[Tx]{Machine: m, handlers: &f.handlers})
	}
	e, err := engine.New(db, c, machines...)
	f.Must(err)
	return e
}

// restart replaces the engine by a new one with connections of its own.
func (f *fixture[Tx]) restart() {
	f.Helper()
	f.engine = f.newEngine(f.Reopen(f.T), f.config)
}

// Now returns the time of the case.
func (f *fixture[Tx]) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

func (f *fixture[Tx]) advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

func (f *fixture[Tx]) token() fsm.UUID {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tokens++
	return storetest.UUID(1_000_000 + f.tokens)
}

func (f *fixture[Tx]) measure(m engine.Metric) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.metrics[m.Name]++
}

func (f *fixture[Tx]) counted(metric string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.metrics[metric]
}

// safeBuffer collects the log.
type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *safeBuffer) has(text string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Contains(b.buf.String(), text)
}

// handlerFunc is the code of a handler.
type handlerFunc[Tx any] func(ctx context.Context, d fsm.Dispatch) (*fsm.Event, error)

// handlerSet holds the code of the handlers and the calls that they got.
type handlerSet[Tx any] struct {
	mu      sync.Mutex
	funcs   map[string]handlerFunc[Tx] // by effect; "?"+effect for its query
	inTx    func(ctx context.Context, tx Tx, d fsm.Dispatch) error
	calls   []fsm.Dispatch
	queries []fsm.Dispatch
}

// set sets the code of an effect's handler. Without code, messages succeed and work
// fails.
func (s *handlerSet[Tx]) set(effect string, h handlerFunc[Tx]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.funcs[effect] = h
}

// answer makes the handler of an effect answer with an event.
func (s *handlerSet[Tx]) answer(effect string, p fsm.Payload) {
	s.set(effect, func(context.Context, fsm.Dispatch) (*fsm.Event, error) { return event(p) })
}

// fail makes the handler of an effect fail.
func (s *handlerSet[Tx]) fail(effect string) {
	s.set(effect, func(context.Context, fsm.Dispatch) (*fsm.Event, error) { return nil, errors.New("no route to host") })
}

func event(p fsm.Payload) (*fsm.Event, error) {
	e, err := fsm.EventOf(p)
	return &e, err
}

// called returns the calls of an effect, including those inside transactions.
func (s *handlerSet[Tx]) called(effect string) (calls []fsm.Dispatch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.calls {
		if d.Effect == effect {
			calls = append(calls, d)
		}
	}
	return calls
}

// order returns the names of all called effects in order.
func (s *handlerSet[Tx]) order() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.calls {
		names = append(names, d.Effect)
	}
	return names
}

func (s *handlerSet[Tx]) record(d fsm.Dispatch, list *[]fsm.Dispatch, line string) handlerFunc[Tx] {
	s.mu.Lock()
	defer s.mu.Unlock()
	*list = append(*list, d)
	return s.funcs[line]
}

// handled is a machine whose handlers are a handlerSet.
type handled[Tx any] struct {
	engine.Machine[Tx]
	handlers *handlerSet[Tx]
}

// HandleTx records the call and runs the code of the case.
func (p handled[Tx]) HandleTx(ctx context.Context, tx Tx, d fsm.Dispatch) error {
	p.handlers.record(d, &p.handlers.calls, d.Effect)
	if p.handlers.inTx == nil {
		return nil
	}
	return p.handlers.inTx(ctx, tx, d)
}

// Handle records the call and runs the code of the case.
func (p handled[Tx]) Handle(ctx context.Context, d fsm.Dispatch) (*fsm.Event, error) {
	if h := p.handlers.record(d, &p.handlers.calls, d.Effect); h != nil {
		return h(ctx, d)
	}
	i := slices.IndexFunc(p.Effects(), func(e fsm.EffectInfo) bool { return e.Name == d.Effect })
	if i >= 0 && p.Effects()[i].Work {
		return nil, fmt.Errorf("the case sets no handler for %s", d.Effect)
	}
	return nil, nil
}

// Query records the call and runs the code of the case. Without code it answers that
// nothing has happened.
func (p handled[Tx]) Query(ctx context.Context, d fsm.Dispatch) (*fsm.Event, bool, error) {
	h := p.handlers.record(d, &p.handlers.queries, "?"+d.Effect)
	if h == nil {
		return nil, false, nil
	}
	answer, err := h(ctx, d)
	return answer, err == nil, err
}

// Firing.

// mustCreate creates a record with the engine.
func (f *fixture[Tx]) mustCreate(machine string, p fsm.Payload, by fsm.Caller) string {
	f.Helper()
	id := f.NewID()
	_, err := f.engine.Create(f.Context(), machine, id, p, engine.Call{By: by})
	f.Must(err)
	return id
}

// mustFire fires an event and fails the test if it is not accepted.
func (f *fixture[Tx]) mustFire(machine, id string, p fsm.Payload, by fsm.Caller) engine.Outcome {
	f.Helper()
	o, err := f.engine.Fire(f.Context(), machine, id, p, engine.Call{By: by})
	f.Must(err)
	return o
}

// stepAll runs Engine.Step until nothing is due.
func (f *fixture[Tx]) stepAll() {
	f.Helper()
	for range 100 {
		n, err := f.engine.Step(f.Context())
		f.Must(err)
		if n == 0 {
			return
		}
	}
	f.Fatal("the worker finds something to do for ever")
}

// wantState fails the test unless the record is in the state at the version and its
// history has no gap.
func (f *fixture[Tx]) wantState(machine, id, state string, version int64) {
	f.Helper()
	r, err := f.engine.Get(f.Context(), machine, id)
	f.Must(err)
	if got := r.Record.StateName(); got != state || r.Version != version {
		f.Fatalf("it is in %s at version %d, want %s at %d", got, r.Version, state, version)
	}
	rows, err := f.engine.History(f.Context(), machine, id, 0, 1000)
	f.Must(err)
	if int64(len(rows)) != version {
		f.Fatalf("version %d has a history of %d rows", version, len(rows))
	}
	for i, row := range rows {
		if row.Version != int64(i+1) {
			f.Fatalf("the history has a gap at version %d", i+1)
		}
	}
}

// offered creates a deal whose offer is submitted.
func (f *fixture[Tx]) offered() string {
	f.Helper()
	id := f.mustCreate("deal", deal.Create{OwnerID: 8, PriceNano: 100}, storetest.Advertiser)
	f.mustFire("deal", id, deal.SubmitOffer{}, storetest.Advertiser)
	return id
}

// paid creates a deal that is funded.
func (f *fixture[Tx]) paid() string {
	f.Helper()
	id := f.offered()
	f.mustFire("deal", id, deal.Accept{}, storetest.Owner)
	f.mustFire("deal", id, deal.AddressReady{DepositAddress: "addr-" + id}, fsm.System())
	f.mustFire("deal", id, deposit(id, 100), fsm.System())
	return id
}

func deposit(tx string, nano int64) deal.DepositConfirmed {
	return deal.DepositConfirmed{TxHash: "tx-" + tx, AmountNano: nano}
}

// wantCalls returns the calls of an effect and fails the test unless there were want.
func (f *fixture[Tx]) wantCalls(effect string, want int) []fsm.Dispatch {
	f.Helper()
	calls := f.handlers.called(effect)
	if len(calls) != want {
		f.Fatalf("%s was called %d times, want %d", effect, len(calls), want)
	}
	return calls
}

// walWorker is a caller that claims ingest units.
var walWorker = wal.ByWorker("w-1").Caller()

// walFailure reports a failure of a claim that was never made.
var walFailure = wal.Fail{Attempt: 7, LastErrorCode: "x", LastErrorMessage: "x"}

// walClaimed creates an ingest unit that is in progress.
func (f *fixture[Tx]) walClaimed() string {
	f.Helper()
	id := f.mustCreate("wal", wal.Discover{Dataset: "d", ObjectURI: "s3://a", TimeRangeStart: storetest.StartTime}, walWorker)
	f.mustFire("wal", id, wal.Claim{}, walWorker)
	return id
}
