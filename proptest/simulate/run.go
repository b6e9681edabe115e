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
	"github.com/fsmgen/fsmgen/proptest/facts"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// Subject is a store with an empty database, see Prepare, and the other access to the
// database that a run needs.
type Subject[Tx any] struct {
	Store store.Store[Tx]
	// Exec runs one statement without parameters, in a transaction of Store.
	Exec func(ctx context.Context, tx Tx, statement string) error
	// DB reads what is stored, on connections of its own.
	DB *sql.DB
}

// Simulation runs an engine on a store by seeds.
type Simulation[Tx any] struct {
	Tables []*ir.Machine // the specs, with all machines of this package
	// Open returns a subject with a database of its own, prepared for the machines. It
	// registers the clean-up with t.
	Open func(t *testing.T, machines []engine.Machine[Tx]) Subject[Tx]
}

// Report is the result of a run.
type Report struct {
	Log      string
	Problems []string       // empty if the run is correct
	Counts   map[string]int // how often each thing happened
}

// Prepare creates the tables of the machines, and the one in which handlers inside a
// transaction and inline effects leave a trace.
func Prepare[Tx any](ctx context.Context, s Subject[Tx], machines []engine.Machine[Tx]) error {
	if err := s.Store.Migrate(ctx, store.Machines(machines)); err != nil {
		return err
	}
	return s.Store.InTx(ctx, func(tx Tx) error { return s.Exec(ctx, tx, facts.CreateTraces) })
}

// Run executes the run of a seed and checks what is stored. Time that the engine spends
// waiting passes at once.
func (s Simulation[Tx]) Run(t *testing.T, seed uint64) (r Report) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { r = s.run(t, seed) })
	return r
}

func (s Simulation[Tx]) run(t *testing.T, seed uint64) Report {
	run, err := s.newRun(t, seed)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	defer close(run.ended)
	run.execute(context.Background())
	return Report{Log: run.log.text.String(), Problems: run.log.problems, Counts: run.log.counts}
}

// execute runs the actions, checks, lets everything come to rest, and checks again. A
// panic is a problem.
func (run *run[Tx]) execute(ctx context.Context) {
	defer func() {
		if v := recover(); v != nil {
			run.log.problem("panic: %v\n%s", v, debug.Stack())
		}
	}()
	for range minActions + run.rng.below(minActions) {
		run.action(ctx)
	}
	run.check(ctx, false)
	run.drain(ctx)
	run.check(ctx, true)
	if err := run.dump(ctx); err != nil {
		run.log.problem("%v", err)
	}
}

// run is the run of one seed.
type run[Tx any] struct {
	subject      Subject[Tx]
	rng          *rng
	clock        *clock
	log          *runLog
	outside      *outside
	machines     []machine[Tx]
	config       engine.Config
	workers      []*worker[Tx]
	started      int // workers, so far
	transactions int // begun so far
	records      []record[Tx]
	calls        []*call
	tried        map[string]int // how often each deadline was due at the end
	depth        int            // of nested actions
	outage       outage         // the last one
	hanging      atomic.Bool    // a handler hangs: no other action begins
	noFaults     bool           // the faults have ended
	ended        chan struct{}
}

// record is a record that some call has tried to create.
type record[Tx any] struct {
	machine machine[Tx]
	id      string
}

// newRun sets up the run of a seed.
func (s Simulation[Tx]) newRun(t *testing.T, seed uint64) (*run[Tx], error) {
	c := &clock{now: startTime, latest: startTime}
	l := &runLog{clock: c, counts: map[string]int{}}
	run := &run[Tx]{rng: newRNG(seed), clock: c, log: l, outside: newOutside(c, l), ended: make(chan struct{}), tried: map[string]int{}}
	var err error
	if run.machines, err = chooseMachines[Tx](run.rng, s.Tables); err != nil {
		return nil, err
	}
	var machines []engine.Machine[Tx]
	for _, r := range run.machines {
		machines = append(machines, r.Machine)
	}
	run.subject = s.Open(t, machines)
	tokens := 0
	run.config = engine.Config{
		Clock: c, Logger: slog.New(logHandler{l}), Lease: time.Minute, HandlerTimeout: 30 * time.Second,
		TwoStep: run.rng.chance(250), Rand: run.rng.share,
		NewToken: func() (u fsm.UUID) {
			tokens++
			_ = u.Scan(fmt.Sprintf("00000000-0000-4000-b000-%012x", tokens)) // it is a valid UUID
			return u
		},
		Metrics: func(m engine.Metric) {
			if m.Name == engine.MetricAttempts && m.Labels[1].Value == "late" {
				l.count("a state is left while its work is under way")
			}
			if strings.HasPrefix(m.Name, "fsm_") && m.Type == "counter" && m.Name != engine.MetricTransitions {
				l.count("counted: " + m.Name)
			}
		},
	}
	for range 2 {
		if err := run.startWorker(); err != nil {
			return nil, err
		}
	}
	for _, r := range run.machines {
		l.printf("machine %s", r.Name())
	}
	return run, nil
}

// startWorker starts another worker.
func (run *run[Tx]) startWorker() error {
	run.started++
	w, err := run.newWorker(fmt.Sprint("worker ", run.started))
	run.workers = append(run.workers, w)
	return err
}

// noteRecord adds a record to those that later actions choose from, as the newest version
// of the machine knows it.
func (run *run[Tx]) noteRecord(r machine[Tx], id string) {
	if i := slices.IndexFunc(run.machines, func(full machine[Tx]) bool { return full.Name() == r.Name() }); i >= 0 {
		r = run.machines[i]
	}
	for _, known := range run.records {
		if known.id == id && known.machine.Name() == r.Name() {
			return
		}
	}
	run.records = append(run.records, record[Tx]{r, id})
}

// look reads a record, nil if it does not exist, and returns it with a generator of
// events for it.
func (run *run[Tx]) look(ctx context.Context, r machine[Tx], id string) (fsm.Record, generator) {
	a := generator{rng: run.rng, table: r.table, now: run.clock.peek()}
	row, err := run.read(ctx, r, id)
	if err != nil || row.Record == nil {
		return nil, a
	}
	var rec *interp.Record
	if rec, err = known(r.table, row.Record); err != nil {
		run.log.problem("%v", err)
	}
	a.record = rec
	return row.Record, a
}

// read reads a record without faults.
func (run *run[Tx]) read(ctx context.Context, r machine[Tx], id string) (store.Row, error) {
	key, err := r.ParseID(id)
	if err != nil {
		return store.Row{}, err
	}
	page, err := run.subject.Store.Read(ctx, store.Read{
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
