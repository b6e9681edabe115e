package crash

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/fsmgen/fsmgen/proptest/crash/scenarios"
	"github.com/fsmgen/fsmgen/proptest/facts"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// lease is longer than any scenario takes in real time. So no lease is renewed, and every
// process passes the same points in the same order.
const lease = time.Hour

// leaseOf returns the lease for a script: handlers keep it however long they take.
func leaseOf(s scenarios.Script) time.Duration { return lease + s.Longest }

// workerProcess is one process that runs scenarios.
type workerProcess[Tx any] struct {
	database    Database[Tx]
	machines    machines
	store       store.Store[Tx]
	config      engine.Config
	engine      *engine.Engine[Tx]
	sql         *sql.DB
	dir         string
	failpoints  *failpoints
	clock       clock
	scripts     map[string]scenarios.Script // by the tags of their scenarios
	concurrency int                         // workers that do at once what is due; 0: one

	mu   sync.Mutex
	runs map[string]*run // by tag
}

func openWorkerProcess[Tx any](
	ctx context.Context, db Database[Tx], subject Subject, p plan, dir string, c *failpoints, k clock, config engine.Config,
) (*workerProcess[Tx], func() error, error) {
	all, err := subject.define(p.Params)
	if err != nil {
		return nil, nil, err
	}
	inner, closeStore, err := db.Open(ctx)
	if err != nil {
		return nil, nil, err
	}
	w := &workerProcess[Tx]{database: db, machines: all, dir: dir, clock: k, failpoints: c, scripts: map[string]scenarios.Script{}, runs: map[string]*run{}}
	for _, sc := range p.Runs {
		w.scripts[sc.Tag] = sc.Script
	}
	if w.sql, err = db.SQL(); err != nil {
		return nil, nil, errors.Join(err, closeStore())
	}
	config.Clock, config.Logger = k, slog.New(slog.NewTextHandler(io.Discard, nil))
	config.Lease, config.Rand = cmp.Or(config.Lease, lease), func() float64 { return 0 }
	cut := newFailpointStore(inner, c)
	if shared, ok := k.(*sharedClock); ok {
		cut.claims = shared.claims
	}
	w.store, w.config = cut, config
	return w, func() error { return errors.Join(w.closeLogs(), w.sql.Close(), closeStore()) }, w.newEngine(config.Lease)
}

// newEngine makes the engine with a lease.
func (w *workerProcess[Tx]) newEngine(lease time.Duration) (err error) {
	config := w.config
	config.Lease = lease
	w.engine, err = engine.New(w.store, config, definitions(w.machines, w)...)
	return err
}

func (w *workerProcess[Tx]) closeLogs() (err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.runs {
		err = errors.Join(err, p.log.file.Close())
	}
	return err
}

// runScenario runs a scenario from its beginning, or resumes it where the last process
// was killed.
func (w *workerProcess[Tx]) runScenario(ctx context.Context, sc plannedRun) error {
	p, err := w.runOf(sc.Tag)
	if err != nil {
		return err
	}
	past, err := p.log.past()
	if err != nil || len(past) > 0 && past[len(past)-1].Entry == ended {
		return err
	}
	w.failpoints.begin(p, sc.Kill)
	if err := errors.Join(w.clock.set(sc.Script.Epoch), w.newEngine(leaseOf(sc.Script))); err != nil {
		return err
	}
	if len(past) == 0 {
		err = p.write(entry{Entry: began})
	} else {
		w.failpoints.kill = nil // killed once
		err = w.resume(ctx, p, past)
	}
	if err != nil {
		return err
	}
	if err := w.steps(ctx, p, w.rest); err != nil {
		return err
	}
	return w.end(ctx, p)
}

// end ends a run. It deletes the keys of its events: if they are made of numbers, the
// next run has the same ones.
func (w *workerProcess[Tx]) end(ctx context.Context, p *run) error {
	for _, m := range w.machines {
		t := m.Tables()
		_, err := w.sql.ExecContext(ctx, fmt.Sprintf(
			`DELETE FROM fsm_keys WHERE machine = '%s' AND key LIKE 'event:%%' AND record_id IN (SELECT CAST("%s" AS text) FROM "%s" WHERE correlation_id = '%s')`,
			m.Name(), t.ID, t.History, p.tag))
		if err != nil {
			return fmt.Errorf("give back keys: %w", err)
		}
	}
	return p.write(entry{Entry: ended})
}

// resume waits until the transactions of the dead process are over, and ends its leases.
// No time passes: guards and deadlines see the same time as without a kill.
func (w *workerProcess[Tx]) resume(ctx context.Context, p *run, past []entry) error {
	for w.database.Busy != nil {
		busy, err := w.database.Busy(ctx, w.sql)
		if err != nil {
			return err
		}
		if !busy {
			break
		}
		time.Sleep(time.Millisecond)
	}
	at := p.script.Epoch
	for _, e := range past {
		if e.Entry == clockSet {
			at = e.At
		}
	}
	if err := w.noteLateDeadline(ctx, p, at); err != nil {
		return err
	}
	return errors.Join(w.setClock(p, at), w.endLeases(ctx, p.tag, "", at))
}

// endLeases ends the leases of a worker in a run as if their time were over; "": of all
// workers.
func (w *workerProcess[Tx]) endLeases(ctx context.Context, tag, worker string, at time.Time) error {
	whose := ""
	if worker != "" {
		whose = " AND worker = '" + worker + "'"
	}
	for _, table := range []string{"fsm_outbox", "fsm_deadlines"} {
		_, err := w.sql.ExecContext(ctx, fmt.Sprintf("UPDATE %s SET lease_until = '%s' WHERE lease_token IS NOT NULL AND correlation = '%s'%s",
			table, at.Add(-time.Microsecond).UTC().Format(fsm.TimeLayout), tag, whose))
		if err != nil {
			return fmt.Errorf("end leases in %s: %w", table, err)
		}
	}
	return nil
}

// noteLateDeadline logs that a deadline became due during a task, in a script whose
// handlers move the clock. The run may end otherwise than without a kill.
func (w *workerProcess[Tx]) noteLateDeadline(ctx context.Context, p *run, at time.Time) error {
	if !movesClock(p.script) {
		return nil
	}
	isDue := false
	err := facts.Query(ctx, w.sql, "SELECT due_at FROM fsm_deadlines WHERE correlation = '"+p.tag+"'", func(r *facts.Row) {
		isDue = isDue || !r.Time().After(at)
	})
	if err != nil || !isDue {
		return err
	}
	return p.write(entry{Entry: lateDeadline})
}

// steps does the steps of a script, and calls rest after each.
func (w *workerProcess[Tx]) steps(ctx context.Context, p *run, rest func(context.Context, *run) error) error {
	for i, st := range p.script.Steps {
		err := w.step(ctx, p, i, st)
		if err == nil {
			err = rest(ctx, p)
		}
		if err != nil {
			return fmt.Errorf("%s, step %d: %w", p.tag, i, err)
		}
	}
	return nil
}

// step does a step. A step that the last process did already changes nothing.
func (w *workerProcess[Tx]) step(ctx context.Context, p *run, i int, st scenarios.Step) error {
	switch {
	case st.Repair:
		return w.repair(ctx, p)
	case st.Event == nil:
		if done, err := p.has(ticked, func(e entry) bool { return e.Step == i }); done || err != nil {
			return err
		}
		if err := p.write(entry{Entry: ticked, Step: i}); err != nil {
			return err
		}
		return w.setClock(p, w.clock.Now().Add(st.Wait))
	}
	if done, err := p.has(refused, func(e entry) bool { return e.Step == i }); done || err != nil {
		return err
	}
	return w.call(ctx, p, i, st, keyOf(p.tag, i, 0))
}

// keyOf returns the key of a caller for the event of a step.
func keyOf(tag string, step, caller int) string { return fmt.Sprintf("%s/%d/%d", tag, step, caller) }

// call fires the event of a step. A refusal is logged and is no failure: the search does
// not know the rows of tables, uniqueness, and the duration of a crash.
func (w *workerProcess[Tx]) call(ctx context.Context, p *run, i int, st scenarios.Step, key string) error {
	id, err := w.recordOf(ctx, p, st)
	if err != nil {
		return err
	}
	act := w.engine.Fire
	if st.Create {
		act = w.engine.Create
	}
	o, err := act(ctx, st.Machine, id, *st.Event, engine.Call{By: st.By, IdempotencyKey: key, Correlation: p.tag})
	wasKilled, problem := p.has(killedHere, func(entry) bool { return true })
	if problem != nil {
		return problem
	}
	e := entry{Entry: accepted, Step: i, Machine: st.Machine, Record: id, Event: st.Event.Name, Key: key, Version: o.Version}
	switch cause, isRefusal := refusal(err); {
	case isRefusal:
		e.Entry, e.Cause = refused, cause
	case err != nil:
		return err
	case o.AlreadyThere:
		e.Entry, e.Cause = refused, "already there"
	case o.Replayed && !wasKilled: // no process died: it was another call, of an event with a key of its own
		e.Entry, e.Cause = refused, "happened before"
	}
	return p.write(e)
}

// refusal returns why the engine refused an event. ok is false if the call failed for
// another reason.
func refusal(err error) (cause string, ok bool) {
	var x *fsm.Rejection
	if errors.As(err, &x) {
		return err.Error(), true
	}
	for _, known := range []error{store.ErrRefused, engine.ErrNotFound, store.ErrExists, store.ErrConflict, store.ErrKeyUsed} {
		if errors.Is(err, known) {
			return err.Error(), true
		}
	}
	return "", false
}

// recordOf returns the record of a step. The id of a record that another machine started
// is read from its history.
func (w *workerProcess[Tx]) recordOf(ctx context.Context, p *run, st scenarios.Step) (id string, err error) {
	if st.Record != "" {
		return st.Record, nil
	}
	m, err := w.machines.member(st.Machine)
	if err != nil {
		return "", err
	}
	t := m.Tables()
	err = w.sql.QueryRowContext(ctx, fmt.Sprintf(`SELECT CAST("%s" AS text) FROM "%s" WHERE version = 1 AND correlation_id = '%s'`, t.ID, t.History, p.tag)).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return m.Name() + " is not started", nil
	}
	return id, err
}

// repair lets stuck replies succeed, and requeues the dead letters.
func (w *workerProcess[Tx]) repair(ctx context.Context, p *run) error {
	if err := p.write(entry{Entry: repaired}); err != nil {
		return err
	}
	deadLetters, err := w.engine.DeadLetters(ctx, store.Filter{}, "", 0)
	for _, row := range deadLetters {
		err = errors.Join(err, w.engine.Requeue(ctx, row.MessageID, "operator", "the handler is repaired"))
	}
	return err
}

// rest does what is due until nothing is, and moves the clock to the next repeat.
func (w *workerProcess[Tx]) rest(ctx context.Context, p *run) error {
	const most = 10_000 // rounds; a scenario takes some hundred
	for range most {
		n, err := w.round(ctx)
		if err != nil {
			return err
		}
		if n > 0 {
			continue
		}
		next, ok, err := w.nextRepeat(ctx)
		if err != nil || !ok {
			return err
		}
		if err := w.setClock(p, next); err != nil {
			return err
		}
	}
	return fmt.Errorf("no rest after %d rounds", most)
}

// round does what is due, with all workers at once.
func (w *workerProcess[Tx]) round(ctx context.Context) (done int, err error) {
	if w.concurrency <= 1 {
		return w.engine.Step(ctx)
	}
	counts, failures := make([]int, w.concurrency), make([]error, w.concurrency)
	var clockFile sync.WaitGroup
	for i := range w.concurrency {
		clockFile.Go(func() { counts[i], failures[i] = w.engine.Step(ctx) })
	}
	clockFile.Wait()
	for _, n := range counts {
		done += n
	}
	return done, errors.Join(failures...)
}

// nextRepeat returns when the next repeat is due.
func (w *workerProcess[Tx]) nextRepeat(ctx context.Context) (at time.Time, ok bool, err error) {
	err = facts.Query(ctx, w.sql, `SELECT min(available_at) FROM fsm_outbox
		WHERE state = 'retry_wait' AND CAST(cancelled AS text) IN ('0', 'false')`, func(r *facts.Row) { at = r.Time() })
	return at, err == nil && !at.IsZero(), err
}

// meanwhile lets time pass while a handler runs, and does what becomes due.
func (w *workerProcess[Tx]) meanwhile(ctx context.Context, p *run, d time.Duration) error {
	if err := w.setClock(p, w.clock.Now().Add(d)); err != nil {
		return err
	}
	_, err := w.engine.Step(ctx)
	return err
}

// isMessage reports whether d is a message of a step. A cleanup has an id that no message
// has.
func (w *workerProcess[Tx]) isMessage(ctx context.Context, d fsm.Dispatch) bool {
	machine, err := w.machineOf(ctx, d.ID)
	return err == nil && machine != ""
}

// machineOf returns the machine of a message, "" if there is no such message.
func (w *workerProcess[Tx]) machineOf(ctx context.Context, messageID string) (machine string, err error) {
	err = w.sql.QueryRowContext(ctx, "SELECT machine FROM fsm_outbox WHERE message_id = '"+messageID+"'").Scan(&machine)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return machine, err
}
