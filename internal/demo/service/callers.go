package service

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/fsmgen/fsmgen/runtime/client"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Machine is one machine with its handlers and the callers of its records.
type Machine struct {
	engine.Machine[*sql.Tx]
	// Started: another machine starts the records; no caller opens one.
	Started bool
	// Callers returns the callers of the records in an engine.
	Callers func(*engine.Engine[*sql.Tx]) Callers
}

// Callers fire the events of one machine's records.
type Callers interface {
	// Open creates record n, counted from 0. It may be called again.
	Open(ctx context.Context, n int, now time.Time) error
	// Round looks at every record and fires what its caller wants now.
	Round(ctx context.Context, now time.Time) (Seen, error)
}

// Seen is what the callers of a machine found in a round.
type Seen struct {
	Records, Resting, Refused int
	Transitions               int64
	Moving                    []string // the records that are not at rest, with their states
}

// opening is a creation event and who fires it.
type opening[P fsm.Payload] struct {
	event P
	by    engine.Option
}

// point is where the scenario of a record has come to.
type point struct {
	n       int // which record, from 0; the scenario depends on it
	version int64
	now     time.Time
}

// move is what a caller does. The zero move waits for the worker or the clock.
type move[P fsm.Payload] struct {
	wrong P // fired first, to be refused; nil: nothing
	event P
	by    engine.Option // nil: the system
	rest  bool          // the caller wants nothing more of this record
}

// scenario says what the callers of a machine do: P is its payloads and R its record.
type scenario[P fsm.Payload, R fsm.Record] struct {
	open func(n int, now time.Time) (opening[P], error) // nil: another machine starts the records
	next func(r R, at point) move[P]
}

// callers plays a scenario with the typed client of a machine.
type callers[P fsm.Payload, R fsm.Record] struct {
	scenario[P, R]
	place int // of the machine, in the ids of its records
	calls client.Calls[fsm.UUID, P, R]
	all   func(context.Context) iter.Seq2[client.Snapshot[R], error]
	tried map[string]int64 // id to the version at which the wrong event was fired
}

// play returns the callers of the machine in a place of All, by the two halves of its client.
func play[S fmt.Stringer, E any, P fsm.Payload, R fsm.Record](s scenario[P, R], place int, calls client.Calls[fsm.UUID, P, R], records client.Records[*sql.Tx, fsm.UUID, S, E, P, R]) Callers {
	var anyState S
	all := func(ctx context.Context) iter.Seq2[client.Snapshot[R], error] { return records.All(ctx, anyState) }
	return &callers[P, R]{s, place, calls, all, map[string]int64{}}
}

// idOf is the id of record n of the machine in a place; numberOf is its inverse.
func idOf(place, n int) fsm.UUID   { return fsm.UUID{6: 0x40, 8: 0x80, 9: byte(place), 15: byte(n)} }
func numberOf(id fsm.UUID) (n int) { return int(id[15]) }

// Open implements Callers. The key makes it safe to try again.
func (c *callers[P, R]) Open(ctx context.Context, n int, now time.Time) error {
	o, err := c.open(n, now)
	if err != nil {
		return err
	}
	id := idOf(c.place, n)
	_, err = c.calls.Create(ctx, id, o.event, actor(o.by), engine.Key("open "+id.String()))
	return err
}

// Round implements Callers: it fires at all records at once.
func (c *callers[P, R]) Round(ctx context.Context, now time.Time) (seen Seen, err error) {
	var firing sync.WaitGroup
	var mu sync.Mutex // guards seen.Refused and err
	done := func(refused int, failure error) {
		mu.Lock()
		defer mu.Unlock()
		seen.Refused += refused
		err = errors.Join(err, failure)
	}
	for s, failure := range c.all(ctx) {
		m, id, failed := c.decide(s, failure, now)
		if failed != nil {
			done(0, failed)
			break
		}
		seen.Records++
		seen.Transitions += s.Version
		if m.rest {
			seen.Resting++
			continue
		}
		seen.Moving = append(seen.Moving, fmt.Sprintf("%s in %s", s.ID, s.Record.StateName()))
		again := c.tried[s.ID] == s.Version
		c.tried[s.ID] = s.Version
		firing.Go(func() { done(c.fire(ctx, id, s, m, again)) })
	}
	firing.Wait()
	return seen, err
}

// decide returns the move of a record that was read.
func (c *callers[P, R]) decide(s client.Snapshot[R], failure error, now time.Time) (move[P], fsm.UUID, error) {
	if err := errors.Join(failure, s.Err); err != nil {
		return move[P]{}, fsm.UUID{}, err
	}
	id, err := fsm.ParseUUID(s.ID)
	if err != nil {
		return move[P]{}, id, err
	}
	return c.next(s.Record, point{numberOf(id), s.Version, now}), id, nil
}

// fire makes a move and counts what was refused. The key names the version that the caller saw: the
// same move counts once, however often it is made.
func (c *callers[P, R]) fire(ctx context.Context, id fsm.UUID, s client.Snapshot[R], m move[P], again bool) (refused int, err error) {
	if any(m.wrong) != nil && !again {
		_, err := c.calls.Fire(ctx, id, m.wrong, actor(m.by))
		if err == nil {
			return 0, fmt.Errorf("%s: %s in %s should be refused and was accepted", id, m.wrong.EventName(), s.Record.StateName())
		}
		if refused, err = refusal(err); err != nil {
			return refused, err
		}
	}
	if any(m.event) == nil {
		return refused, nil
	}
	_, err = c.calls.Fire(ctx, id, m.event, actor(m.by), engine.Key(fmt.Sprintf("%s at %d", id, s.Version)))
	n, err := refusal(err)
	return refused + n, err
}

// actor is who fires: the system, if nothing else is said.
func actor(by engine.Option) engine.Option {
	if by == nil {
		return engine.By(fsm.System())
	}
	return by
}

// refusal counts a rejection. A conflict means that the worker was first: the next round sees what
// is there now.
func refusal(err error) (int, error) {
	var x *fsm.Rejection
	if errors.As(err, &x) {
		return 1, nil
	}
	if errors.Is(err, engine.ErrConflict) {
		return 0, nil
	}
	return 0, err
}
