package simulate

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/proptest/facts"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// worker is one process: an engine with a store of its own, until it dies.
type worker[Tx any] struct {
	run      *run[Tx]
	name     string
	store    *faultyStore[Tx]
	engine   *engine.Engine[Tx]
	machines []machine[Tx]
	busy     bool // settles tasks
	// decided holds the last decision about each record, which may not be stored yet.
	decided map[string]fsm.Record
}

func (run *run[Tx]) newWorker(name string) (*worker[Tx], error) {
	s := &faultyStore[Tx]{Store: run.subject.Store, run: run, worker: name, lack: run.drawLack()}
	w := &worker[Tx]{run: run, name: name, store: s, decided: map[string]fsm.Record{}}
	c := run.config
	c.Worker, c.Clock = name, run.machineClock()
	w.machines = w.versions()
	var machines []engine.Machine[Tx]
	for _, r := range w.machines {
		machines = append(machines, simulated[Tx]{r, w})
	}
	var err error
	if w.engine, err = engine.New[Tx](w.store, c, machines...); err != nil {
		return nil, err
	}
	return w, w.inlineSome()
}

// versions returns the machines in the version of the worker's program.
func (w *worker[Tx]) versions() (machines []machine[Tx]) {
	lack := w.store.lack
	for _, r := range w.run.machines {
		if lack.machine == r.Name() {
			w.run.log.printf("%s knows no %s%s%s of %s", w.name, lack.effect, lack.event, lack.state, r.Name())
			r.Machine = older[Tx]{r.Machine, lack}
		}
		machines = append(machines, r)
	}
	return machines
}

// machineClock returns the clock of a worker's computer, which may differ by minutes from
// that of the database.
func (run *run[Tx]) machineClock() engine.Clock {
	const some, most = 400, 10 * time.Minute
	if run.noFaults || !run.rng.chance(some) {
		return run.clock
	}
	return skewed{run.clock, run.rng.span(-most, most)}
}

// round lets the worker do what is due.
func (w *worker[Tx]) round(ctx context.Context) int {
	w.run.log.printf("%s: a round", w.name)
	n, err := w.engine.Step(ctx)
	w.run.log.printf("%s: %d done, %s", w.name, n, kind(err))
	return n
}

// simulated is a machine with simulated handlers.
type simulated[Tx any] struct {
	machine[Tx]
	worker *worker[Tx]
}

// Create records the new record, whether it is stored or not.
func (m simulated[Tx]) Create(id string, e fsm.Event, in fsm.Input) (fsm.Decision, error) {
	m.worker.run.noteRecord(m.machine, id)
	return m.noted(id)(m.machine.Create(id, e, in))
}

// Fire records the decision.
func (m simulated[Tx]) Fire(r fsm.Record, e fsm.Event, in fsm.Input) (fsm.Decision, error) {
	return m.noted(fsm.Text(r.Values()[0]))(m.machine.Fire(r, e, in))
}

func (m simulated[Tx]) noted(id string) func(fsm.Decision, error) (fsm.Decision, error) {
	return func(d fsm.Decision, err error) (fsm.Decision, error) {
		if err == nil {
			m.worker.decided[m.Name()+" "+id] = d.Record
		}
		return d, err
	}
}

var (
	errOutside   = errors.New("the outside says no")
	errPermanent = &engine.PermanentError{Err: errors.New("the outside will always say no")}
)

// HandleTx leaves a trace in the transaction.
func (m simulated[Tx]) HandleTx(ctx context.Context, tx Tx, d fsm.Dispatch) error {
	run := m.worker.run
	if !run.noFaults && run.rng.chance(30) {
		run.log.count("a handler in a transaction fails")
		if run.rng.chance(300) {
			panic("in a transaction")
		}
		return errOutside
	}
	return run.subject.Exec(ctx, tx, facts.LeaveTrace(d, ""))
}

// behaviour is what a handler does.
type behaviour string

// The courses.
const (
	succeeds   behaviour = "succeeds"
	fails      behaviour = "fails"
	isRefused  behaviour = "is refused for good"
	panics     behaviour = "panics"
	failsAfter behaviour = "happens and fails"
	panicAfter behaviour = "happens and panics"
	slow       behaviour = "is slow"
	hangs      behaviour = "hangs"
	ignores    behaviour = "hangs and ignores its context"
	lost       behaviour = "is lost"
	lostAfter  behaviour = "happens and is lost"
	nonsense   behaviour = "answers nonsense"
)

var behaviours = []weighted[behaviour]{
	{560, succeeds}, {100, fails}, {25, isRefused}, {30, panics}, {30, failsAfter}, {20, panicAfter}, {110, slow},
	{20, hangs}, {10, ignores}, {25, lost}, {40, lostAfter}, {30, nonsense},
}

// Handle carries an effect out, or fails as rng says.
func (m simulated[Tx]) Handle(ctx context.Context, d fsm.Dispatch) (*fsm.Event, error) {
	if m.worker.store.dead.Load() {
		return nil, errDead
	}
	c := m.behaviour()
	answer, err := m.handle(ctx, d, c)
	if c == ignores {
		<-m.worker.run.ended // the engine has stopped waiting for it
	}
	return answer, err
}

func (m simulated[Tx]) handle(ctx context.Context, d fsm.Dispatch, c behaviour) (*fsm.Event, error) {
	run := m.worker.run
	msg := run.outside.begin(m.worker.name, d, m.effect(d.Effect))
	if msg == nil {
		msg = &message{} // a cleanup
	} else {
		defer msg.underWay.Add(-1)
	}
	run.log.count("an attempt")
	run.log.count("a handler " + string(c))
	if c != succeeds {
		run.log.count("an attempt goes wrong")
	}
	run.log.printf("  %s: %s %s.%s v%d, attempt %d, %s", m.worker.name, alias(d.Record), d.Machine, d.Effect, d.Version, d.Attempt, c)
	run.interleave()
	m.fireMeanwhile(d.Record)
	happens := func() (*fsm.Event, error) {
		if !msg.happened {
			msg.happened, msg.answer = true, m.answer(ctx, d, c)
		}
		return msg.answer, nil
	}
	msg.failed = msg.failed || c != succeeds && c != slow
	switch c {
	case fails:
		return nil, errOutside
	case isRefused:
		return nil, errPermanent
	case panics:
		panic("before it happened")
	case failsAfter:
		_, _ = happens()
		return nil, errOutside
	case panicAfter:
		_, _ = happens()
		panic("after it happened")
	case slow:
		m.outlastLease(ctx)
	case hangs, ignores:
		return nil, m.hang(ctx)
	case lost:
		m.worker.store.dead.Store(true)
		return nil, errDead
	case lostAfter:
		answer, err := happens()
		m.worker.store.dead.Store(true)
		return answer, err
	}
	return happens()
}

// fireMeanwhile fires events of the record while its handler runs.
func (m simulated[Tx]) fireMeanwhile(id string) {
	run := m.worker.run
	const most = 3
	if run.noFaults || run.depth >= maxDepth || !run.rng.chance(80) {
		return
	}
	run.log.count("a caller fires while a handler is at work")
	run.nested(func() {
		ctx := context.Background()
		for range 1 + run.rng.below(most) {
			run.send(ctx, run.invent(ctx, m.machine, id, false))
		}
	})
}

// behaviour chooses what a handler does. One that hangs needs the time for itself, so it
// hangs in the outermost round only.
func (m simulated[Tx]) behaviour() behaviour {
	run := m.worker.run
	if run.noFaults {
		return succeeds
	}
	c := draw(run.rng, behaviours)
	if (c == hangs || c == ignores) && run.depth > 0 {
		return fails
	}
	return c
}

// outlastLease takes longer than the lease, so that another worker can take over.
func (m simulated[Tx]) outlastLease(ctx context.Context) {
	run := m.worker.run
	run.clock.move(run.config.Lease + run.rng.span(0, run.config.Lease))
	if run.depth < maxDepth {
		run.nested(func() { run.step(ctx) })
	}
}

// hang blocks until its context ends. The lease is renewed meanwhile.
func (m simulated[Tx]) hang(ctx context.Context) error {
	run := m.worker.run
	run.hanging.Store(true)
	run.clock.move(run.config.HandlerTimeout)
	<-ctx.Done()
	run.hanging.Store(false)
	return context.Cause(ctx)
}

// answer makes up the answer of an effect that has one.
func (m simulated[Tx]) answer(ctx context.Context, d fsm.Dispatch, c behaviour) *fsm.Event {
	run := m.worker.run
	effect := m.effect(d.Effect)
	if len(effect.Returns) == 0 {
		return nil
	}
	if c == nonsense {
		return &fsm.Event{Name: "nonsense", Payload: []byte(`{"a":1}`)}
	}
	record, a := run.look(ctx, m.machine, d.Record)
	return m.invent(effect, record, a)
}

// invent makes up an answer, mostly one that the record accepts.
func (m simulated[Tx]) invent(effect *ir.Effect, record fsm.Record, a generator) *fsm.Event {
	run := m.worker.run
	e := a.answer(oneOf(run.rng, effect.Returns))
	tries := 30
	if record == nil || !run.noFaults && run.rng.chance(200) {
		tries = 0
	}
	for range tries {
		decision, err := m.machine.Fire(record, e, fsm.Input{By: fsm.System(), Now: run.clock.peek()})
		if err == nil && !run.tooShort(decision) {
			break
		}
		e = a.answer(oneOf(run.rng, effect.Returns))
	}
	return &e
}

// queries are the behaviours of queries.
var queries = []weighted[behaviour]{{800, succeeds}, {80, fails}, {30, isRefused}, {30, panics}, {60, slow}}

// Query reports whether the effect has happened, or fails as rng says. A slow query
// reports what was true when it was called.
func (m simulated[Tx]) Query(ctx context.Context, d fsm.Dispatch) (*fsm.Event, bool, error) {
	run := m.worker.run
	if m.worker.store.dead.Load() {
		return nil, false, errDead
	}
	msg := run.outside.messages[d.ID]
	answer, happened := msg.answer, msg.happened
	c := run.query(msg)
	run.log.count("a query " + string(c))
	run.log.printf("  %s: query %s %s.%s: %t, %s", m.worker.name, alias(d.Record), d.Machine, d.Effect, happened, c)
	msg.failed = msg.failed || c != succeeds && c != slow
	switch c {
	case fails:
		return nil, false, errOutside
	case isRefused:
		return nil, false, errPermanent
	case panics:
		panic("asked")
	case slow:
		m.outlastLease(ctx)
	}
	return answer, happened, nil
}

// query chooses how a query of a message behaves. The queries of some messages fail until
// the faults end.
func (run *run[Tx]) query(msg *message) behaviour {
	const some = 150
	if run.noFaults {
		return succeeds
	}
	if !msg.asked {
		msg.asked, msg.mute = true, run.rng.chance(some)
	}
	if msg.mute {
		run.log.count("a query fails however often it is tried")
		return fails
	}
	return draw(run.rng, queries)
}

func (m simulated[Tx]) effect(name string) *ir.Effect {
	return m.table.Effects[slices.IndexFunc(m.table.Effects, func(e *ir.Effect) bool { return e.Text == name })]
}
