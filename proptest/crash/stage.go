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
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// lease is longer than any life takes in real time, so that nothing is renewed
// and every process passes the same points in the same order.
const lease = time.Hour

// leaseOf is the lease in a life: its handlers keep it however long they take.
func leaseOf(s scenarios.Script) time.Duration { return lease + s.Longest }

// stage is one process, living lives.
type stage[Tx any] struct {
	database Database[Tx]
	machines machines
	store    store.Store[Tx]
	config   engine.Config
	engine   *engine.Engine[Tx]
	sql      *sql.DB
	dir      string
	cutter   *cutter
	clock    clock
	scripts  map[string]scenarios.Script // by the tags of their scenarios
	hands    int                         // workers that do at once what is due; 0: one

	mu    sync.Mutex
	plays map[string]*play // by tag
}

func openStage[Tx any](
	ctx context.Context, db Database[Tx], subject Subject, p plan, dir string, c *cutter, k clock, config engine.Config,
) (*stage[Tx], func() error, error) {
	all, err := subject.define(p.Params)
	if err != nil {
		return nil, nil, err
	}
	inner, closeStore, err := db.Open(ctx)
	if err != nil {
		return nil, nil, err
	}
	s := &stage[Tx]{database: db, machines: all, dir: dir, clock: k, cutter: c, scripts: map[string]scenarios.Script{}, plays: map[string]*play{}}
	for _, sc := range p.Scenarios {
		s.scripts[sc.Tag] = sc.Script
	}
	if s.sql, err = db.SQL(); err != nil {
		return nil, nil, errors.Join(err, closeStore())
	}
	config.Clock, config.Logger = k, slog.New(slog.NewTextHandler(io.Discard, nil))
	config.Lease, config.Rand = cmp.Or(config.Lease, lease), func() float64 { return 0 }
	cut := newCutStore(inner, c)
	if shared, ok := k.(*sharedClock); ok {
		cut.claims = shared.claims
	}
	s.store, s.config = cut, config
	return s, func() error { return errors.Join(s.closeDiaries(), s.sql.Close(), closeStore()) }, s.employ(config.Lease)
}

// employ makes the engine, with a lease.
func (s *stage[Tx]) employ(lease time.Duration) (err error) {
	config := s.config
	config.Lease = lease
	s.engine, err = engine.New(s.store, config, definitions(s.machines, s)...)
	return err
}

func (s *stage[Tx]) closeDiaries() (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.plays {
		err = errors.Join(err, p.diary.file.Close())
	}
	return err
}

// live lives a scenario from its beginning, or on from where the last process
// was killed.
func (s *stage[Tx]) live(ctx context.Context, sc scenario) error {
	p, err := s.playOf(sc.Tag)
	if err != nil {
		return err
	}
	past, err := p.diary.past()
	if err != nil || len(past) > 0 && past[len(past)-1].Entry == ended {
		return err
	}
	s.cutter.begin(p, sc.Cut)
	if err := errors.Join(s.clock.set(sc.Script.Epoch), s.employ(leaseOf(sc.Script))); err != nil {
		return err
	}
	if len(past) == 0 {
		err = p.write(entry{Entry: began})
	} else {
		s.cutter.cut = nil // killed once
		err = s.resume(ctx, p, past)
	}
	if err != nil {
		return err
	}
	if err := s.steps(ctx, p, s.rest); err != nil {
		return err
	}
	return s.end(ctx, p)
}

// end ends a life. It gives back the keys that its events have of themselves:
// where they are made of numbers, those of the next life are the same.
func (s *stage[Tx]) end(ctx context.Context, p *play) error {
	for _, m := range s.machines {
		t := m.Tables()
		_, err := s.sql.ExecContext(ctx, fmt.Sprintf(
			`DELETE FROM fsm_keys WHERE machine = '%s' AND key LIKE 'event:%%' AND record_id IN (SELECT CAST("%s" AS text) FROM "%s" WHERE correlation_id = '%s')`,
			m.Name(), t.ID, t.History, p.tag))
		if err != nil {
			return fmt.Errorf("give back keys: %w", err)
		}
	}
	return p.write(entry{Entry: ended})
}

// resume goes on when the transactions of the dead process are over, and ends its
// leases. No time passes: however long a kill takes, guards and timers see the
// time that they would have seen without it.
func (s *stage[Tx]) resume(ctx context.Context, p *play, past []entry) error {
	for s.database.Busy != nil {
		busy, err := s.database.Busy(ctx, s.sql)
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
	if err := s.oversleep(ctx, p, at); err != nil {
		return err
	}
	return errors.Join(s.setClock(p, at), s.endLeases(ctx, p.tag, "", at))
}

// endLeases ends the leases of a worker in a scenario as if their time were over;
// "": of all workers.
func (s *stage[Tx]) endLeases(ctx context.Context, tag, worker string, at time.Time) error {
	whose := ""
	if worker != "" {
		whose = " AND worker = '" + worker + "'"
	}
	for _, table := range []string{"fsm_outbox", "fsm_deadlines"} {
		_, err := s.sql.ExecContext(ctx, fmt.Sprintf("UPDATE %s SET lease_until = '%s' WHERE lease_token IS NOT NULL AND correlation = '%s'%s",
			table, at.Add(-time.Microsecond).UTC().Format(fsm.TimeLayout), tag, whose))
		if err != nil {
			return fmt.Errorf("end leases in %s: %w", table, err)
		}
	}
	return nil
}

// oversleep notes that a timer of a life in which handlers move the clock came due
// in the middle of something: the life may end otherwise than without a crash.
func (s *stage[Tx]) oversleep(ctx context.Context, p *play, at time.Time) error {
	if !movesClock(p.script) {
		return nil
	}
	isDue := false
	err := scan(ctx, s.sql, "SELECT CAST(due_at AS text) FROM fsm_deadlines WHERE correlation = '"+p.tag+"'", func(rows *sql.Rows) error {
		var text string
		err := rows.Scan(&text)
		if err != nil {
			return err
		}
		due, err := parseTime(text)
		isDue = isDue || !due.After(at)
		return err
	})
	if err != nil || !isDue {
		return err
	}
	return p.write(entry{Entry: overslept})
}

// steps does the steps of a script, with a rest after each.
func (s *stage[Tx]) steps(ctx context.Context, p *play, rest func(context.Context, *play) error) error {
	for i, st := range p.script.Steps {
		err := s.step(ctx, p, i, st)
		if err == nil {
			err = rest(ctx, p)
		}
		if err != nil {
			return fmt.Errorf("%s, step %d: %w", p.tag, i, err)
		}
	}
	return nil
}

// step does a step. One that the last process did already changes nothing.
func (s *stage[Tx]) step(ctx context.Context, p *play, i int, st scenarios.Step) error {
	switch {
	case st.Mend:
		return s.mend(ctx, p)
	case st.Event == nil:
		if done, err := p.has(ticked, func(e entry) bool { return e.Step == i }); done || err != nil {
			return err
		}
		if err := p.write(entry{Entry: ticked, Step: i}); err != nil {
			return err
		}
		return s.setClock(p, s.clock.Now().Add(st.Wait))
	}
	if done, err := p.has(refused, func(e entry) bool { return e.Step == i }); done || err != nil {
		return err
	}
	return s.call(ctx, p, i, st, keyOf(p.tag, i, 0))
}

// keyOf is the key of a caller who fires the event of a step.
func keyOf(tag string, step, caller int) string { return fmt.Sprintf("%s/%d/%d", tag, step, caller) }

// call fires the event of a step. What is refused is noted: lives are found
// without knowing the rows of tables, what is unique, and how long a crash takes.
func (s *stage[Tx]) call(ctx context.Context, p *play, i int, st scenarios.Step, key string) error {
	id, err := s.recordOf(ctx, p, st)
	if err != nil {
		return err
	}
	act := s.engine.Fire
	if st.Create {
		act = s.engine.Create
	}
	o, err := act(ctx, st.Machine, id, payload{*st.Event}, engine.Call{By: st.By, IdempotencyKey: key, Correlation: p.tag})
	wasCut, problem := p.has(cutHere, func(entry) bool { return true })
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
	case o.Replayed && !wasCut: // nobody died: it was another call, of an event with a key of its own
		e.Entry, e.Cause = refused, "happened before"
	}
	return p.write(e)
}

// refusal tells why nothing came of an event, if that is an answer and not a
// failure.
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

// payload is an event as an engine takes it.
type payload struct{ event fsm.Event }

// EventName is the event's name.
func (p payload) EventName() string { return p.event.Name }

// MarshalJSON is the event's payload.
func (p payload) MarshalJSON() ([]byte, error) { return p.event.Payload, nil }

// recordOf returns the record that a step is about. Of one that another machine
// started, the life knows no id: its history says whose it is.
func (s *stage[Tx]) recordOf(ctx context.Context, p *play, st scenarios.Step) (id string, err error) {
	if st.Record != "" {
		return st.Record, nil
	}
	m, err := s.machines.member(st.Machine)
	if err != nil {
		return "", err
	}
	t := m.Tables()
	err = s.sql.QueryRowContext(ctx, fmt.Sprintf(`SELECT CAST("%s" AS text) FROM "%s" WHERE version = 1 AND correlation_id = '%s'`, t.ID, t.History, p.tag)).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return m.Name() + " is not started", nil
	}
	return id, err
}

// mend lets stuck replies succeed, and requeues the dead letters.
func (s *stage[Tx]) mend(ctx context.Context, p *play) error {
	if err := p.write(entry{Entry: mended}); err != nil {
		return err
	}
	letters, err := s.engine.DeadLetters(ctx, store.Filter{}, "", 0)
	for _, row := range letters {
		err = errors.Join(err, s.engine.Requeue(ctx, row.MessageID, "somebody", "it is mended"))
	}
	return err
}

// rest does what is due until nothing is, and lets the time of the next repeat
// come.
func (s *stage[Tx]) rest(ctx context.Context, p *play) error {
	const most = 10_000 // rounds; a life takes some hundred
	for range most {
		n, err := s.round(ctx)
		if err != nil {
			return err
		}
		if n > 0 {
			continue
		}
		next, ok, err := s.nextRepeat(ctx)
		if err != nil || !ok {
			return err
		}
		if err := s.setClock(p, next); err != nil {
			return err
		}
	}
	return fmt.Errorf("no rest after %d rounds", most)
}

// round does a round of what is due, with all hands.
func (s *stage[Tx]) round(ctx context.Context) (done int, err error) {
	if s.hands <= 1 {
		return s.engine.Step(ctx)
	}
	counts, failures := make([]int, s.hands), make([]error, s.hands)
	var hands sync.WaitGroup
	for i := range s.hands {
		hands.Go(func() { counts[i], failures[i] = s.engine.Step(ctx) })
	}
	hands.Wait()
	for _, n := range counts {
		done += n
	}
	return done, errors.Join(failures...)
}

// nextRepeat returns when the next repeat is due.
func (s *stage[Tx]) nextRepeat(ctx context.Context) (at time.Time, ok bool, err error) {
	var text sql.NullString
	err = s.sql.QueryRowContext(ctx, `SELECT CAST(min(available_at) AS text) FROM fsm_outbox
		WHERE state = 'retry_wait' AND CAST(cancelled AS text) IN ('0', 'false')`).Scan(&text)
	if err != nil || !text.Valid {
		return at, false, err
	}
	at, err = parseTime(text.String)
	return at, err == nil, err
}

// parseTime reads a time as SQLite keeps it or as PostgreSQL prints it.
func parseTime(text string) (t time.Time, err error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999-07", "2006-01-02 15:04:05.999999-07:00"} {
		if t, err = time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	return t, err
}

// meanwhile lets time pass while a handler is at work, and other work with it.
func (s *stage[Tx]) meanwhile(ctx context.Context, p *play, d time.Duration) error {
	if err := s.setClock(p, s.clock.Now().Add(d)); err != nil {
		return err
	}
	_, err := s.engine.Step(ctx)
	return err
}

// isMessage reports whether d was asked for by a step. What cleans up has an id
// that no row of the outbox has.
func (s *stage[Tx]) isMessage(ctx context.Context, d fsm.Dispatch) bool {
	machine, err := s.machineOf(ctx, d.ID)
	return err == nil && machine != ""
}

// machineOf returns the machine of a message, "" if there is no such message.
func (s *stage[Tx]) machineOf(ctx context.Context, messageID string) (machine string, err error) {
	err = s.sql.QueryRowContext(ctx, "SELECT machine FROM fsm_outbox WHERE message_id = '"+messageID+"'").Scan(&machine)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return machine, err
}
