package simulation

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsmgen/fsmgen/gen/interp"
	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Subject is a store with an empty database, see Prepare, and the ways to it
// that a play needs beside.
type Subject[Tx any] struct {
	Store engine.Store[Tx]
	// Exec runs one statement without parameters, in a transaction of Store.
	Exec func(ctx context.Context, tx Tx, statement string) error
	// DB reads what is stored, on connections of its own.
	DB *sql.DB
}

// Simulation is what plays are made of.
type Simulation[Tx any] struct {
	Tables []*ir.Machine // see Tables
	// Open makes a subject with a database of its own. t says when it can be
	// cleaned up.
	Open func(t *testing.T) Subject[Tx]
}

// Report is what came of a play.
type Report struct {
	Log      string
	Problems []string       // none: everything was as it must be
	Counts   map[string]int // how often each thing happened
}

// Prepare makes the tables of every machine, and the one in which handlers inside
// a transaction leave a trace.
func Prepare[Tx any](ctx context.Context, s Subject[Tx]) error {
	if err := s.Store.Migrate(ctx, Machines[Tx]()); err != nil {
		return err
	}
	return s.Store.InTx(ctx, func(tx Tx) error {
		return s.Exec(ctx, tx, "CREATE TABLE simulated_calls (machine text NOT NULL, record_id text NOT NULL, version bigint NOT NULL, effect text NOT NULL)")
	})
}

// Run plays the play of a seed and audits what is left. Time that the engine
// spends waiting passes at once.
func (s Simulation[Tx]) Run(t *testing.T, seed uint64) (r Report) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { r = s.run(t, seed) })
	return r
}

func (s Simulation[Tx]) run(t *testing.T, seed uint64) Report {
	ctx := context.Background()
	p, err := s.stage(s.Open(t), seed)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	defer close(p.over)
	for range acts + p.dice.below(acts) {
		p.act(ctx)
	}
	p.audit(ctx, false)
	p.drain(ctx)
	p.audit(ctx, true)
	if err := p.dump(ctx); err != nil {
		p.journal.problem("%v", err)
	}
	return Report{Log: p.journal.text.String(), Problems: p.journal.problems, Counts: p.journal.counts}
}

// acts is how many acts a play has at least; it has less than twice as many.
const acts = 40

// deepest is how many things can be under way at once, one within another.
const deepest = 2

// play is one run.
type play[Tx any] struct {
	subject Subject[Tx]
	dice    *dice
	clock   *clock
	journal *journal
	outside *outside
	roles   []role[Tx]
	config  engine.Config
	workers []*worker[Tx]
	names   int // of workers, so far
	records []record[Tx]
	calls   []*call
	tried   map[string]int // deadlines, at the end: how often they came
	depth   int            // of what is under way within something else
	hanging atomic.Bool    // a handler hangs: nothing else begins
	calm    bool           // nothing goes wrong any more
	over    chan struct{}
}

// record is one that somebody has tried to make.
type record[Tx any] struct {
	role role[Tx]
	id   string
}

// stage sets a play up.
func (s Simulation[Tx]) stage(subject Subject[Tx], seed uint64) (*play[Tx], error) {
	c := &clock{now: epoch, latest: epoch}
	j := &journal{clock: c, counts: map[string]int{}}
	p := &play[Tx]{subject: subject, dice: newDice(seed), clock: c, journal: j, outside: newOutside(c, j), over: make(chan struct{}), tried: map[string]int{}}
	var err error
	if p.roles, err = cast[Tx](p.dice, s.Tables); err != nil {
		return nil, err
	}
	tokens := 0
	p.config = engine.Config{
		Clock: c, Logger: slog.New(lines{j}), Lease: time.Minute, HandlerTimeout: 30 * time.Second,
		TwoStep: p.dice.chance(250), Rand: p.dice.share,
		NewToken: func() (u fsm.UUID) {
			tokens++
			_ = u.Scan(fmt.Sprintf("00000000-0000-4000-b000-%012x", tokens)) // it is one
			return u
		},
		Metrics: func(m engine.Metric) {
			if m.Name == engine.MetricAttempts && m.Labels[1].Value == "late" {
				j.count("a state is left while its work is under way")
			}
			if strings.HasPrefix(m.Name, "fsm_") && m.Type == "counter" && m.Name != engine.MetricTransitions {
				j.count("counted: " + m.Name)
			}
		},
	}
	for range 2 {
		if err := p.hire(); err != nil {
			return nil, err
		}
	}
	for _, r := range p.roles {
		j.say("machine %s", r.Name())
	}
	return p, nil
}

// hire starts another worker.
func (p *play[Tx]) hire() error {
	p.names++
	w, err := p.newWorker(fmt.Sprint("worker ", p.names))
	p.workers = append(p.workers, w)
	return err
}

// interlude lets something else happen, if the seed says so.
func (p *play[Tx]) interlude() {
	if p.calm || p.depth >= deepest || p.hanging.Load() || !p.dice.chance(45) {
		return
	}
	p.journal.count("something else happens in between")
	p.nested(func() { p.act(context.Background()) })
}

// nested runs what happens while something else is under way.
func (p *play[Tx]) nested(f func()) {
	p.depth++
	defer func() { p.depth-- }()
	p.journal.say("meanwhile, %d deep:", p.depth)
	f()
	p.journal.say("end of that")
}

// act is one thing that happens.
func (p *play[Tx]) act(ctx context.Context) {
	p.mourn()
	draw(p.dice, []weighted[func(context.Context)]{
		{28, p.fire}, {10, p.create}, {28, p.step}, {8, p.pause}, {10, p.skip}, {2, p.jump}, {2, p.jumpBack}, {3, p.restart},
		{4, p.resolve}, {2, p.resume}, {3, p.batch}, {4, p.fireTx}, {6, p.repeat},
	})(ctx)
}

// mourn replaces the workers that have died.
func (p *play[Tx]) mourn() {
	for i, w := range p.workers {
		if !w.store.dead.Load() {
			continue
		}
		p.names++
		p.journal.count("a worker is replaced")
		next, err := p.newWorker(fmt.Sprint("worker ", p.names))
		if err != nil {
			p.journal.problem("no new worker: %v", err)
			continue
		}
		p.journal.say("%s takes the place of %s", next.name, w.name)
		p.workers[i] = next
	}
}

// step lets a worker do a round that is in none.
func (p *play[Tx]) step(ctx context.Context) {
	var idle []*worker[Tx]
	for _, w := range p.workers {
		if !w.busy && !w.store.dead.Load() {
			idle = append(idle, w)
		}
	}
	if len(idle) > 0 {
		oneOf(p.dice, idle).round(ctx)
	}
}

// restart kills a worker where it stands.
func (p *play[Tx]) restart(context.Context) {
	w := oneOf(p.dice, p.workers)
	p.journal.count("a worker is killed")
	p.journal.say("%s is killed", w.name)
	w.store.dead.Store(true)
}

// pause, skip, jump and jumpBack are what time does.
func (p *play[Tx]) pause(context.Context) { p.pass(p.dice.span(time.Millisecond, 5*time.Second)) }

func (p *play[Tx]) jump(context.Context) {
	p.journal.count("the clock jumps")
	p.pass(p.dice.span(time.Minute, 200*time.Hour))
}

func (p *play[Tx]) jumpBack(context.Context) {
	p.journal.count("the clock jumps back")
	p.pass(-p.dice.span(time.Millisecond, time.Hour))
}

func (p *play[Tx]) pass(d time.Duration) {
	p.clock.move(d)
	p.journal.say("the clock moves by %s", d)
}

// skip moves the clock to when the next thing is due.
func (p *play[Tx]) skip(ctx context.Context) {
	if at, ok := p.next(ctx); ok {
		p.clock.wait(at)
		p.journal.say("the clock moves to what is due")
	}
}

// meet notes a record.
func (p *play[Tx]) meet(r role[Tx], id string) {
	for _, known := range p.records {
		if known.id == id && known.role.Name() == r.Name() {
			return
		}
	}
	p.records = append(p.records, record[Tx]{r, id})
}

// look reads a record, nil where there is none, and returns it with an author who
// knows it.
func (p *play[Tx]) look(ctx context.Context, r role[Tx], id string) (fsm.Record, author) {
	a := author{dice: p.dice, table: r.table, now: p.clock.peek()}
	row, err := p.read(ctx, r, id)
	if err != nil || row.Record == nil {
		return nil, a
	}
	var rec *interp.Record
	if rec, err = known(r.table, row.Record); err != nil {
		p.journal.problem("%v", err)
	}
	a.record = rec
	return row.Record, a
}

// read reads a record past the faults.
func (p *play[Tx]) read(ctx context.Context, r role[Tx], id string) (engine.Row, error) {
	key, err := r.ParseID(id)
	if err != nil {
		return engine.Row{}, err
	}
	page, err := p.subject.Store.Read(ctx, engine.Read{
		Kind: engine.ReadRecord, Machine: r.Name(), Tables: r.Tables(), Blank: r.Blank, ID: id, Key: key, Limit: 1,
	})
	if err != nil || len(page.Records) == 0 {
		return engine.Row{}, err
	}
	return page.Records[0], page.Records[0].Err
}

// alias shortens an id.
func alias(id string) string {
	if short, ok := strings.CutPrefix(id, "00000000-0000-4000-9000-"); ok {
		return "#" + strings.TrimLeft(short, "0")
	}
	return id
}
