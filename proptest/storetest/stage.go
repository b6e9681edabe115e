package storetest

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

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// stage is an engine over a bench's store and machines, with handlers that a
// scene writes and a clock that it moves.
type stage[Tx any] struct {
	*bench[Tx]
	engine *engine.Engine[Tx]
	config engine.Config
	script script[Tx]
	log    safeBuffer

	mu      sync.Mutex
	now     time.Time
	tokens  int
	metrics map[string]int // how often each was measured
}

func newStage[Tx any](t *testing.T, open Open[Tx]) *stage[Tx] {
	t.Helper()
	s := &stage[Tx]{bench: newBench(t, open), now: epoch, metrics: map[string]int{}}
	s.script.lines = map[string]line[Tx]{}
	s.config = engine.Config{
		Clock: s, Worker: "w", Lease: time.Minute, Rand: func() float64 { return 0.5 }, NewToken: s.token,
		Logger: slog.New(slog.NewTextHandler(&s.log, nil)), Metrics: s.measure,
	}
	s.engine = s.open(s.Store, s.config)
	return s
}

// open makes an engine, as a process does that starts.
func (s *stage[Tx]) open(db store.Store[Tx], c engine.Config) *engine.Engine[Tx] {
	s.Helper()
	var machines []engine.Machine[Tx]
	for _, m := range s.machines() {
		machines = append(machines, played[Tx]{Machine: m, script: &s.script})
	}
	e, err := engine.New(db, c, machines...)
	s.must(err)
	return e
}

// restart makes the stage's engine anew, on connections of its own.
func (s *stage[Tx]) restart() {
	s.Helper()
	s.engine = s.open(s.Reopen(s.T), s.config)
}

// Now makes the stage a clock.
func (s *stage[Tx]) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *stage[Tx]) tick(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

func (s *stage[Tx]) token() fsm.UUID {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens++
	return uuid(1_000_000 + s.tokens)
}

func (s *stage[Tx]) measure(m engine.Metric) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.metrics[m.Name]++
}

func (s *stage[Tx]) counted(metric string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.metrics[metric]
}

// safeBuffer is where the log goes.
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

// line is what a handler does.
type line[Tx any] func(ctx context.Context, d fsm.Dispatch) (*fsm.Event, error)

// script is what the handlers do, and what they were asked.
type script[Tx any] struct {
	mu      sync.Mutex
	lines   map[string]line[Tx] // by effect; "?"+effect for its query
	inTx    func(ctx context.Context, tx Tx, d fsm.Dispatch) error
	calls   []fsm.Dispatch
	queries []fsm.Dispatch
}

// on says what the handler of an effect does from now on. Messages without a
// line succeed, work without one fails.
func (s *script[Tx]) on(effect string, l line[Tx]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines[effect] = l
}

// answers makes the handler of an effect answer with an event.
func (s *script[Tx]) answers(effect string, p fsm.Payload) {
	s.on(effect, func(context.Context, fsm.Dispatch) (*fsm.Event, error) { return event(p) })
}

// fails makes the handler of an effect fail.
func (s *script[Tx]) fails(effect string) {
	s.on(effect, func(context.Context, fsm.Dispatch) (*fsm.Event, error) { return nil, errors.New("no route to host") })
}

func event(p fsm.Payload) (*fsm.Event, error) {
	e, err := fsm.EventOf(p)
	return &e, err
}

// called returns the calls of an effect, those inside transactions too.
func (s *script[Tx]) called(effect string) (calls []fsm.Dispatch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.calls {
		if d.Effect == effect {
			calls = append(calls, d)
		}
	}
	return calls
}

// order returns the names of all effects called, in their order.
func (s *script[Tx]) order() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.calls {
		names = append(names, d.Effect)
	}
	return names
}

func (s *script[Tx]) note(d fsm.Dispatch, list *[]fsm.Dispatch, line string) line[Tx] {
	s.mu.Lock()
	defer s.mu.Unlock()
	*list = append(*list, d)
	return s.lines[line]
}

// played is a machine whose handlers are a script.
type played[Tx any] struct {
	engine.Machine[Tx]
	script *script[Tx]
}

// HandleTx notes the call and does what the script says.
func (p played[Tx]) HandleTx(ctx context.Context, tx Tx, d fsm.Dispatch) error {
	p.script.note(d, &p.script.calls, d.Effect)
	if p.script.inTx == nil {
		return nil
	}
	return p.script.inTx(ctx, tx, d)
}

// Handle notes the call and does what the script says.
func (p played[Tx]) Handle(ctx context.Context, d fsm.Dispatch) (*fsm.Event, error) {
	if l := p.script.note(d, &p.script.calls, d.Effect); l != nil {
		return l(ctx, d)
	}
	i := slices.IndexFunc(p.Effects(), func(e fsm.EffectInfo) bool { return e.Name == d.Effect })
	if i >= 0 && p.Effects()[i].Work {
		return nil, fmt.Errorf("the scene has no line for %s", d.Effect)
	}
	return nil, nil
}

// Query notes the question and answers as the script says; without a line, that
// nothing has happened.
func (p played[Tx]) Query(ctx context.Context, d fsm.Dispatch) (*fsm.Event, bool, error) {
	l := p.script.note(d, &p.script.queries, "?"+d.Effect)
	if l == nil {
		return nil, false, nil
	}
	answer, err := l(ctx, d)
	return answer, err == nil, err
}

// Firing.

// create makes a record by the engine.
func (s *stage[Tx]) create(machine string, p fsm.Payload, by fsm.Caller) string {
	s.Helper()
	id := s.id()
	_, err := s.engine.Create(s.ctx, machine, id, p, engine.Call{By: by})
	s.must(err)
	return id
}

// accepts fires an event that has to be accepted.
func (s *stage[Tx]) accepts(machine, id string, p fsm.Payload, by fsm.Caller) engine.Outcome {
	s.Helper()
	o, err := s.engine.Fire(s.ctx, machine, id, p, engine.Call{By: by})
	s.must(err)
	return o
}

// steps lets the worker do what is due, until nothing is.
func (s *stage[Tx]) steps() {
	s.Helper()
	for range 100 {
		n, err := s.engine.Step(s.ctx)
		s.must(err)
		if n == 0 {
			return
		}
	}
	s.Fatal("the worker finds something to do for ever")
}

// in fails the test unless the record is in a state at a version with a gapless
// history.
func (s *stage[Tx]) in(machine, id, state string, version int64) {
	s.Helper()
	r, err := s.engine.Get(s.ctx, machine, id)
	s.must(err)
	if got := r.Record.StateName(); got != state || r.Version != version {
		s.Fatalf("it is in %s at version %d, want %s at %d", got, r.Version, state, version)
	}
	rows, err := s.engine.History(s.ctx, machine, id, 0, 1000)
	s.must(err)
	if int64(len(rows)) != version {
		s.Fatalf("version %d has a history of %d rows", version, len(rows))
	}
	for i, row := range rows {
		if row.Version != int64(i+1) {
			s.Fatalf("the history has a gap at version %d", i+1)
		}
	}
}

// offered makes a deal whose offer is made.
func (s *stage[Tx]) offered() string {
	s.Helper()
	id := s.create("deal", deal.Create{OwnerID: 8, PriceNano: 100}, advertiser)
	s.accepts("deal", id, deal.SubmitOffer{}, advertiser)
	return id
}

// paid makes a deal that is funded.
func (s *stage[Tx]) paid() string {
	s.Helper()
	id := s.offered()
	s.accepts("deal", id, deal.Accept{}, owner)
	s.accepts("deal", id, deal.AddressReady{DepositAddress: "addr-" + id}, fsm.System())
	s.accepts("deal", id, deposit(id, 100), fsm.System())
	return id
}

func deposit(tx string, nano int64) deal.DepositConfirmed {
	return deal.DepositConfirmed{TxHash: "tx-" + tx, AmountNano: nano}
}

// only counts the calls of an effect and fails the test unless there were so
// many.
func (s *stage[Tx]) only(effect string, want int) []fsm.Dispatch {
	s.Helper()
	calls := s.script.called(effect)
	if len(calls) != want {
		s.Fatalf("%s was called %d times, want %d", effect, len(calls), want)
	}
	return calls
}
