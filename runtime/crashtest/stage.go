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
	cutter   *cutter
	clock    clock
	lives    map[string]string // by the tags of their scenarios

	mu    sync.Mutex
	plays map[string]*play // by tag
}

func openStage[Tx any](ctx context.Context, db Database[Tx], p plan, dir string, c *cutter, k clock, config engine.Config) (*stage[Tx], func() error, error) {
	g, err := groupOf[Tx](p.Group)
	if err != nil {
		return nil, nil, err
	}
	store, closeStore, err := db.Open(ctx)
	if err != nil {
		return nil, nil, err
	}
	s := &stage[Tx]{database: db, group: g, dir: dir, clock: k, cutter: c, lives: map[string]string{}, plays: map[string]*play{}}
	for _, sc := range p.Scenarios {
		s.lives[sc.Tag] = sc.Life
	}
	if s.sql, err = db.SQL(); err != nil {
		return nil, nil, errors.Join(err, closeStore())
	}
	var machines []engine.Machine[Tx]
	for _, m := range g.machines {
		machines = append(machines, witness[Tx]{m.Machine, s})
	}
	config.Clock, config.Logger = k, slog.New(slog.NewTextHandler(io.Discard, nil))
	config.Lease, config.Rand = cmp.Or(config.Lease, lease), func() float64 { return 0 }
	s.engine, err = engine.New(newCutStore(store, c), config, machines...)
	return s, func() error { return errors.Join(s.closeDiaries(), s.sql.Close(), closeStore()) }, err
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
	if err := s.clock.set(epoch); err != nil {
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
	return p.write(entry{Entry: ended})
}

// resume goes on when the transactions and leases of the dead process are over.
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
	at := epoch
	for _, e := range past {
		if e.Entry == clockSet {
			at = e.At
		}
	}
	return s.setClock(p, at.Add(downtime))
}

// steps does the steps of a script, with a rest after each.
func (s *stage[Tx]) steps(ctx context.Context, p *play, rest func(context.Context, *play) error) error {
	for i, st := range p.script.steps {
		err := s.step(ctx, p, i, st)
		if err == nil {
			err = rest(ctx, p)
		}
		if err != nil {
			return fmt.Errorf("%s, step %d of %s: %w", p.tag, i, s.lives[p.tag], err)
		}
	}
	return nil
}

// step does a step. One that the last process did already changes nothing.
func (s *stage[Tx]) step(ctx context.Context, p *play, i int, st step) error {
	switch {
	case st.mend:
		return s.mend(ctx, p)
	case st.event == nil:
		if done, err := p.has(ticked, func(e entry) bool { return e.Step == i }); done || err != nil {
			return err
		}
		if err := p.write(entry{Entry: ticked, Step: i}); err != nil {
			return err
		}
		return s.setClock(p, s.clock.Now().Add(st.wait))
	}
	id := idOf(p.tag, st.machine).String()
	call := engine.Call{By: st.by, Key: fmt.Sprintf("%s/%d", p.tag, i), Correlation: p.tag}
	act := s.engine.Fire
	if st.create {
		act = s.engine.Create
	}
	o, err := act(ctx, st.machine, id, st.event, call)
	if err != nil {
		return err
	}
	return p.write(entry{Entry: accepted, Step: i, Machine: st.machine, Record: id, Event: st.event.EventName(), Key: call.Key, Version: o.Version})
}

// mend lets stuck replies succeed, and requeues the dead letters.
func (s *stage[Tx]) mend(ctx context.Context, p *play) error {
	if err := p.write(entry{Entry: mended}); err != nil {
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
func (s *stage[Tx]) rest(ctx context.Context, p *play) error {
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
		if err != nil || !ok {
			return err
		}
		if err := s.setClock(p, next); err != nil {
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
