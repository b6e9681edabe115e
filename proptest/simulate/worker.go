package simulate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// worker is one process: an engine over a store of its own, until it dies.
type worker[Tx any] struct {
	play   *play[Tx]
	name   string
	store  *faultyStore[Tx]
	engine *engine.Engine[Tx]
	roles  []role[Tx]
	busy   bool // ends tasks
	// decided is what the machines have said last, of what may not be stored yet.
	decided map[string]fsm.Record
}

func (p *play[Tx]) newWorker(name string) (*worker[Tx], error) {
	s := &faultyStore[Tx]{Store: p.subject.Store, play: p, worker: name, lack: p.drawLack()}
	w := &worker[Tx]{play: p, name: name, store: s, decided: map[string]fsm.Record{}}
	c := p.config
	c.Worker, c.Clock = name, p.machineClock()
	w.roles = w.cast()
	var machines []engine.Machine[Tx]
	for _, r := range w.roles {
		machines = append(machines, actors[Tx]{r, w})
	}
	var err error
	if w.engine, err = engine.New[Tx](w.store, c, machines...); err != nil {
		return nil, err
	}
	return w, w.inlineSome()
}

// cast returns the roles as the version of the worker's program knows them.
func (w *worker[Tx]) cast() (roles []role[Tx]) {
	lack := w.store.lack
	for _, r := range w.play.roles {
		if lack.machine == r.Name() {
			w.play.journal.say("%s knows no %s%s%s of %s", w.name, lack.effect, lack.event, lack.state, r.Name())
			r.Machine = older[Tx]{r.Machine, lack}
		}
		roles = append(roles, r)
	}
	return roles
}

// machineClock is the clock of a worker's machine, which may differ by minutes from
// that of the database.
func (p *play[Tx]) machineClock() engine.Clock {
	const some, most = 400, 10 * time.Minute
	if p.calm || !p.dice.chance(some) {
		return p.clock
	}
	return skewed{p.clock, p.dice.span(-most, most)}
}

// round lets the worker do what is due.
func (w *worker[Tx]) round(ctx context.Context) int {
	w.play.journal.say("%s: a round", w.name)
	n, err := w.engine.Step(ctx)
	w.play.journal.say("%s: %d done, %s", w.name, n, kind(err))
	return n
}

// actors is a machine whose handlers do what the seed says.
type actors[Tx any] struct {
	role[Tx]
	worker *worker[Tx]
}

// Create notes the record, whether it comes to be or not.
func (m actors[Tx]) Create(id string, e fsm.Event, in fsm.Input) (fsm.Decision, error) {
	m.worker.play.meet(m.role, id)
	return m.noted(id)(m.role.Create(id, e, in))
}

// Fire notes what it leads to.
func (m actors[Tx]) Fire(r fsm.Record, e fsm.Event, in fsm.Input) (fsm.Decision, error) {
	return m.noted(fsm.Text(r.Values()[0]))(m.role.Fire(r, e, in))
}

func (m actors[Tx]) noted(id string) func(fsm.Decision, error) (fsm.Decision, error) {
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

// HandleTx leaves a trace of itself in the transaction.
func (m actors[Tx]) HandleTx(ctx context.Context, tx Tx, d fsm.Dispatch) error {
	p := m.worker.play
	if !p.calm && p.dice.chance(30) {
		p.journal.count("a handler in a transaction fails")
		if p.dice.chance(300) {
			panic("in a transaction")
		}
		return errOutside
	}
	return p.subject.Exec(ctx, tx, fmt.Sprintf("INSERT INTO simulated_calls (machine, record_id, version, effect) VALUES ('%s', '%s', %d, '%s')",
		d.Machine, d.Record, d.Version, d.Effect))
}

// course is how a call of a handler goes.
type course string

// The courses.
const (
	succeeds   course = "succeeds"
	fails      course = "fails"
	isRefused  course = "is refused for good"
	panics     course = "panics"
	failsAfter course = "happens and fails"
	panicAfter course = "happens and panics"
	slow       course = "is slow"
	hangs      course = "hangs"
	ignores    course = "hangs and ignores its context"
	lost       course = "is lost"
	lostAfter  course = "happens and is lost"
	nonsense   course = "answers nonsense"
)

var courses = []weighted[course]{
	{560, succeeds}, {100, fails}, {25, isRefused}, {30, panics}, {30, failsAfter}, {20, panicAfter}, {110, slow},
	{20, hangs}, {10, ignores}, {25, lost}, {40, lostAfter}, {30, nonsense},
}

// Handle carries an effect out, or does not.
func (m actors[Tx]) Handle(ctx context.Context, d fsm.Dispatch) (*fsm.Event, error) {
	if m.worker.store.dead.Load() {
		return nil, errDead
	}
	c := m.course()
	answer, err := m.handle(ctx, d, c)
	if c == ignores {
		<-m.worker.play.over // nobody waits for it any more
	}
	return answer, err
}

func (m actors[Tx]) handle(ctx context.Context, d fsm.Dispatch, c course) (*fsm.Event, error) {
	p := m.worker.play
	msg := p.outside.begin(m.worker.name, d, m.effect(d.Effect))
	if msg == nil {
		msg = &message{} // a cleanup
	} else {
		defer msg.underWay.Add(-1)
	}
	p.journal.count("an attempt")
	p.journal.count("a handler " + string(c))
	if c != succeeds {
		p.journal.count("an attempt goes wrong")
	}
	p.journal.say("  %s: %s %s.%s v%d, attempt %d, %s", m.worker.name, alias(d.Record), d.Machine, d.Effect, d.Version, d.Attempt, c)
	p.interlude()
	m.overtake(d.Record)
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
		m.dawdle(ctx)
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

// overtake lets somebody fire at the record for which a handler is at work.
func (m actors[Tx]) overtake(id string) {
	p := m.worker.play
	const most = 3
	if p.calm || p.depth >= deepest || !p.dice.chance(80) {
		return
	}
	p.journal.count("somebody fires while a handler is at work")
	p.nested(func() {
		ctx := context.Background()
		for range 1 + p.dice.below(most) {
			p.send(ctx, p.invent(ctx, m.role, id, false))
		}
	})
}

// course draws how a call goes. What waits for time to pass has it to itself: it
// hangs in the outermost round only.
func (m actors[Tx]) course() course {
	p := m.worker.play
	if p.calm {
		return succeeds
	}
	c := draw(p.dice, courses)
	if (c == hangs || c == ignores) && p.depth > 0 {
		return fails
	}
	return c
}

// dawdle takes longer than the lease, and gives others time to take over.
func (m actors[Tx]) dawdle(ctx context.Context) {
	p := m.worker.play
	p.clock.move(p.config.Lease + p.dice.span(0, p.config.Lease))
	if p.depth < deepest {
		p.nested(func() { p.step(ctx) })
	}
}

// hang goes on until its context ends. The lease is renewed meanwhile.
func (m actors[Tx]) hang(ctx context.Context) error {
	p := m.worker.play
	p.hanging.Store(true)
	p.clock.move(p.config.HandlerTimeout)
	<-ctx.Done()
	p.hanging.Store(false)
	return context.Cause(ctx)
}

// answer invents the answer of an effect that has one.
func (m actors[Tx]) answer(ctx context.Context, d fsm.Dispatch, c course) *fsm.Event {
	p := m.worker.play
	effect := m.effect(d.Effect)
	if len(effect.Returns) == 0 {
		return nil
	}
	if c == nonsense {
		return &fsm.Event{Name: "nonsense", Payload: []byte(`{"a":1}`)}
	}
	record, a := p.look(ctx, m.role, d.Record)
	return m.invent(effect, record, a)
}

// invent makes up an answer; mostly one that the record accepts.
func (m actors[Tx]) invent(effect *ir.Effect, record fsm.Record, a author) *fsm.Event {
	p := m.worker.play
	e := a.answer(oneOf(p.dice, effect.Returns))
	tries := 30
	if record == nil || !p.calm && p.dice.chance(200) {
		tries = 0
	}
	for range tries {
		decision, err := m.role.Fire(record, e, fsm.Input{By: fsm.System(), Now: p.clock.peek()})
		if err == nil && !p.tooShort(decision) {
			break
		}
		e = a.answer(oneOf(p.dice, effect.Returns))
	}
	return &e
}

// queries are how asking goes.
var queries = []weighted[course]{{800, succeeds}, {80, fails}, {30, isRefused}, {30, panics}, {60, slow}}

// Query knows what has happened, unless it can't say. A slow answer tells what was so
// when it was asked for.
func (m actors[Tx]) Query(ctx context.Context, d fsm.Dispatch) (*fsm.Event, bool, error) {
	p := m.worker.play
	if m.worker.store.dead.Load() {
		return nil, false, errDead
	}
	msg := p.outside.messages[d.ID]
	answer, happened := msg.answer, msg.happened
	c := p.query(msg)
	p.journal.count("a query " + string(c))
	p.journal.say("  %s: query %s %s.%s: %t, %s", m.worker.name, alias(d.Record), d.Machine, d.Effect, happened, c)
	msg.failed = msg.failed || c != succeeds && c != slow
	switch c {
	case fails:
		return nil, false, errOutside
	case isRefused:
		return nil, false, errPermanent
	case panics:
		panic("asked")
	case slow:
		m.dawdle(ctx)
	}
	return answer, happened, nil
}

// query draws how asking about a message goes. About some it fails until nothing goes
// wrong any more.
func (p *play[Tx]) query(msg *message) course {
	const some = 150
	if p.calm {
		return succeeds
	}
	if !msg.asked {
		msg.asked, msg.mute = true, p.dice.chance(some)
	}
	if msg.mute {
		p.journal.count("a query fails however often it is tried")
		return fails
	}
	return draw(p.dice, queries)
}

func (m actors[Tx]) effect(name string) *ir.Effect {
	return m.table.Effects[slices.IndexFunc(m.table.Effects, func(e *ir.Effect) bool { return e.Text == name })]
}
