package crashtest

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

	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// lease is longer than any life takes in real time, so that nothing is renewed
// and every process passes the same points in the same order.
const lease = time.Hour

// downtime is how much later the next process begins: the leases of the dead
// one are over then.
const downtime = lease + time.Minute

// stage is one process, living lives.
type stage[Tx any] struct {
	database Database[Tx]
	group    group[Tx]
	engine   *engine.Engine[Tx]
	sql      *sql.DB
	dir      string
	diary    diary
	cutter   *cutter
	clock    *clock

	tag     string
	script  script
	resumed bool // another process was killed in this life
	mu      sync.Mutex
	past    []entry // the diary of this scenario
}

// clock is moved by the script alone.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

// Now returns the time of the scenario.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
}

func openStage[Tx any](ctx context.Context, db Database[Tx], p plan, dir string) (*stage[Tx], func() error, error) {
	g, err := groupOf[Tx](p.Group)
	if err != nil {
		return nil, nil, err
	}
	store, closeStore, err := db.Open(ctx)
	if err != nil {
		return nil, nil, err
	}
	s := &stage[Tx]{database: db, group: g, dir: dir, clock: &clock{}, cutter: &cutter{record: p.Record}}
	if s.sql, err = db.SQL(); err != nil {
		return nil, nil, errors.Join(err, closeStore())
	}
	var machines []engine.Machine[Tx]
	for _, m := range g.machines {
		machines = append(machines, witness[Tx]{m.Machine, s})
	}
	config := engine.Config{
		Clock: s.clock, Lease: lease, Worker: "crashtest", Rand: func() float64 { return 0 },
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	s.engine, err = engine.New(newCutStore(store, s.cutter), config, machines...)
	return s, func() error { return errors.Join(s.sql.Close(), closeStore()) }, err
}

// live lives a scenario from its beginning, or on from where the last process
// was killed.
func (s *stage[Tx]) live(ctx context.Context, sc scenario) error {
	l, err := s.group.life(sc.Life)
	if err != nil {
		return err
	}
	past, err := readDiary(s.dir, sc.Tag)
	if err != nil || len(past) > 0 && past[len(past)-1].Entry == ended {
		return err
	}
	if s.diary, err = openDiary(s.dir, sc.Tag); err != nil {
		return err
	}
	defer s.diary.file.Close()
	s.cutter.diary = s.diary
	s.tag, s.script, s.past = sc.Tag, l.script(sc.Tag), past
	s.cutter.scenario, s.cutter.counts, s.cutter.cut = sc.Tag, map[Point]int{}, sc.Cut
	s.clock.set(epoch)
	s.resumed = len(past) > 0
	if s.resumed {
		s.cutter.cut = nil // killed once
		for _, e := range past {
			if e.Entry == clockSet {
				s.clock.set(e.At)
			}
		}
		err = s.setClock(s.clock.Now().Add(downtime))
	} else {
		err = s.write(entry{Entry: began})
	}
	for i, st := range s.script.steps {
		if err == nil {
			err = s.step(ctx, i, st)
		}
		if err == nil {
			err = s.rest(ctx)
		}
		if err != nil {
			return fmt.Errorf("%s, step %d of %s: %w", sc.Tag, i, sc.Life, err)
		}
	}
	return s.write(entry{Entry: ended})
}

// step does a step. One that the last process did already changes nothing.
func (s *stage[Tx]) step(ctx context.Context, i int, st step) error {
	switch {
	case st.mend:
		return s.mend(ctx)
	case st.event == nil:
		if s.has(ticked, func(e entry) bool { return e.Step == i }) {
			return nil
		}
		if err := s.write(entry{Entry: ticked, Step: i}); err != nil {
			return err
		}
		return s.setClock(s.clock.Now().Add(st.wait))
	}
	id := idOf(s.tag, st.machine).String()
	call := engine.Call{By: st.by, Key: fmt.Sprintf("%s/%d", s.tag, i), Correlation: s.tag}
	act := s.engine.Fire
	if st.create {
		act = s.engine.Create
	}
	o, err := act(ctx, st.machine, id, st.event, call)
	if err != nil {
		return err
	}
	return s.write(entry{Entry: accepted, Step: i, Machine: st.machine, Record: id, Event: st.event.EventName(), Key: call.Key, Version: o.Version})
}

// mend lets stuck replies succeed, and requeues the dead letters.
func (s *stage[Tx]) mend(ctx context.Context) error {
	if err := s.write(entry{Entry: mended}); err != nil {
		return err
	}
	letters, err := s.engine.DeadLetters(ctx, "", 0)
	for _, row := range letters {
		err = errors.Join(err, s.engine.Requeue(ctx, row.MessageID, "somebody", "it is mended"))
	}
	return err
}

// rest does what is due until nothing is, and lets the time of the next repeat
// come.
func (s *stage[Tx]) rest(ctx context.Context) error {
	const most = 10_000 // rounds; a life takes some hundred
	for range most {
		n, err := s.engine.Step(ctx)
		if err != nil {
			return err
		}
		if n > 0 {
			continue
		}
		next, ok, err := s.nextRepeat(ctx)
		if err == nil && !ok && s.resumed {
			if held, err := s.held(ctx); err != nil || held {
				time.Sleep(5 * time.Millisecond)
				continue
			}
		}
		if err != nil || !ok {
			return err
		}
		if err := s.setClock(next); err != nil {
			return err
		}
	}
	return fmt.Errorf("no rest after %d rounds", most)
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

// held reports whether something is due that nobody could claim: a server needs
// a moment to notice that a process is dead, and keeps its locks for so long.
func (s *stage[Tx]) held(ctx context.Context) (bool, error) {
	var n int
	err := s.sql.QueryRowContext(ctx, `SELECT count(*) FROM fsm_outbox AS o
		WHERE state IN ('pending', 'delivering') AND CAST(cancelled AS text) IN ('0', 'false')
			AND NOT EXISTS (SELECT 1 FROM fsm_outbox AS p
				WHERE p.machine = o.machine AND p.record_id = o.record_id AND p.lane = o.lane AND p.state = 'dead_letter')`).Scan(&n)
	if err != nil || n > 0 {
		return n > 0, err
	}
	due := false
	err = scan(ctx, s.sql, "SELECT CAST(due_at AS text) FROM fsm_deadlines", func(rows *sql.Rows) error {
		var text string
		if err := rows.Scan(&text); err != nil {
			return err
		}
		at, err := parseTime(text)
		due = due || !at.After(s.clock.Now())
		return err
	})
	return due, err
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
func (s *stage[Tx]) meanwhile(ctx context.Context, d time.Duration) error {
	if err := s.setClock(s.clock.Now().Add(d)); err != nil {
		return err
	}
	_, err := s.engine.Step(ctx)
	return err
}

func (s *stage[Tx]) setClock(t time.Time) error {
	if t.After(s.clock.Now()) {
		s.clock.set(t)
	}
	return s.write(entry{Entry: clockSet, At: s.clock.Now()})
}

// write adds to the diary of this scenario.
func (s *stage[Tx]) write(e entry) error {
	e.Scenario = cmp.Or(e.Scenario, s.tag)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.past = append(s.past, e)
	return s.diary.write(e)
}

func (s *stage[Tx]) has(kind entryKind, is func(entry) bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.past {
		if e.Entry == kind && is(e) {
			return true
		}
	}
	return false
}

// reply is what the script says about a message: it counts those of its effect
// that came before it.
func (s *stage[Tx]) reply(d fsm.Dispatch) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	replies := s.script.replies[d.Machine+"."+d.Effect]
	if len(replies) == 0 {
		return reply{}
	}
	earlier := map[string]bool{}
	for _, e := range s.past {
		if e.Entry == called && e.Machine == d.Machine && e.Effect == d.Effect && e.Version < d.Version {
			earlier[e.ID] = true
		}
	}
	return replies[min(len(earlier), len(replies)-1)]
}

// fails reports whether this attempt is one that fails.
func (s *stage[Tx]) fails(r reply, d fsm.Dispatch) bool {
	return r.broken || d.Attempt <= r.fails || r.stuck && !s.has(mended, func(entry) bool { return true })
}

// isMessage reports whether d was asked for by a step. What cleans up has an id
// that no row of the outbox has.
func (s *stage[Tx]) isMessage(d fsm.Dispatch) bool {
	var n int
	err := s.sql.QueryRow("SELECT count(*) FROM fsm_outbox WHERE CAST(message_id AS text) = '" + d.ID + "'").Scan(&n)
	return err == nil && n > 0
}
