package simulate

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsmgen/fsmgen/gen/interp"
	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// Subject is a store with an empty database, see Prepare, and the ways to it
// that a play needs beside.
type Subject[Tx any] struct {
	Store store.Store[Tx]
	// Exec runs one statement without parameters, in a transaction of Store.
	Exec func(ctx context.Context, tx Tx, statement string) error
	// DB reads what is stored, on connections of its own.
	DB *sql.DB
}

// Simulation is what plays are made of.
type Simulation[Tx any] struct {
	Tables []*ir.Machine // see Tables
	// Open makes a subject with a database of its own, prepared for the machines.
	// t says when it can be cleaned up.
	Open func(t *testing.T, machines []engine.Machine[Tx]) Subject[Tx]
}

// Report is what came of a play.
type Report struct {
	Log      string
	Problems []string       // none: everything was as it must be
	Counts   map[string]int // how often each thing happened
}

// Prepare makes the tables of machines, and those in which handlers inside a
// transaction, and effects that are carried out within one, leave a trace.
func Prepare[Tx any](ctx context.Context, s Subject[Tx], machines []engine.Machine[Tx]) error {
	if err := s.Store.Migrate(ctx, store.Machines(machines)); err != nil {
		return err
	}
	return s.Store.InTx(ctx, func(tx Tx) error {
		for _, table := range []string{
			"simulated_calls (machine text NOT NULL, record_id text NOT NULL, version bigint NOT NULL, effect text NOT NULL)",
			"simulated_inline (machine text NOT NULL, record_id text NOT NULL, version bigint NOT NULL, effect text NOT NULL, answer text NOT NULL)",
		} {
			if err := s.Exec(ctx, tx, "CREATE TABLE "+table); err != nil {
				return err
			}
		}
		return nil
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
	p, err := s.stage(t, seed)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	defer close(p.over)
	p.perform(context.Background())
	return Report{Log: p.journal.text.String(), Problems: p.journal.problems, Counts: p.journal.counts}
}

// perform plays from the first act to the last audit. A panic is a problem.
func (p *play[Tx]) perform(ctx context.Context) {
	defer func() {
		if v := recover(); v != nil {
			p.journal.problem("panic: %v\n%s", v, debug.Stack())
		}
	}()
	for range acts + p.dice.below(acts) {
		p.act(ctx)
	}
	p.audit(ctx, false)
	p.drain(ctx)
	p.audit(ctx, true)
	if err := p.dump(ctx); err != nil {
		p.journal.problem("%v", err)
	}
}

// play is one run.
type play[Tx any] struct {
	subject      Subject[Tx]
	dice         *dice
	clock        *clock
	journal      *journal
	outside      *outside
	roles        []role[Tx]
	config       engine.Config
	workers      []*worker[Tx]
	names        int // of workers, so far
	transactions int // begun so far
	records      []record[Tx]
	calls        []*call
	tried        map[string]int // deadlines, at the end: how often they came
	depth        int            // of what is under way within something else
	outage       outage         // the last
	hanging      atomic.Bool    // a handler hangs: nothing else begins
	calm         bool           // nothing goes wrong any more
	over         chan struct{}
}

// record is one that somebody has tried to make.
type record[Tx any] struct {
	role role[Tx]
	id   string
}

// stage sets a play up.
func (s Simulation[Tx]) stage(t *testing.T, seed uint64) (*play[Tx], error) {
	c := &clock{now: epoch, latest: epoch}
	j := &journal{clock: c, counts: map[string]int{}}
	p := &play[Tx]{dice: newDice(seed), clock: c, journal: j, outside: newOutside(c, j), over: make(chan struct{}), tried: map[string]int{}}
	var err error
	if p.roles, err = cast[Tx](p.dice, s.Tables); err != nil {
		return nil, err
	}
	var machines []engine.Machine[Tx]
	for _, r := range p.roles {
		machines = append(machines, r.Machine)
	}
	p.subject = s.Open(t, machines)
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

// meet notes a record, as the newest version knows it.
func (p *play[Tx]) meet(r role[Tx], id string) {
	if i := slices.IndexFunc(p.roles, func(full role[Tx]) bool { return full.Name() == r.Name() }); i >= 0 {
		r = p.roles[i]
	}
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
func (p *play[Tx]) read(ctx context.Context, r role[Tx], id string) (store.Row, error) {
	key, err := r.ParseID(id)
	if err != nil {
		return store.Row{}, err
	}
	page, err := p.subject.Store.Read(ctx, store.Read{
		Kind: store.ReadRecord, Machine: r.Name(), Tables: r.Tables(), Blank: r.Blank, ID: id, IDValue: key, Limit: 1,
	})
	if err != nil || len(page.Records) == 0 {
		return store.Row{}, err
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
