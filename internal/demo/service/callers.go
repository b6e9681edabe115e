package service

import (
	"context"
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
	engine.Machine[tx]
	// Started: another machine starts the records; no caller opens one.
	Started bool
	// Callers returns the callers of the records in an engine.
	Callers func(In) Callers
}

// In is where callers fire: an engine, its clock, and how many records they open.
type In struct {
	Engine  *engine.Engine[tx]
	Clock   engine.Clock
	Records int
}

// Callers fire the events of one machine's records.
type Callers interface {
	// Serve opens records and fires until ctx ends, or until every record is at rest and no other
	// machine can start more.
	Serve(ctx context.Context) error
	// Seen returns what the callers have found so far. It is safe during Serve.
	Seen() Seen
}

// Seen is what the callers of a machine found: Refused in all rounds, the rest in the last one.
type Seen struct {
	Opened, Records, Resting, Refused int

	Transitions int64
	Moving      []string // the records that are not at rest, with their states
	Done        bool     // every record is open, and its callers want nothing more
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
	In
	place int // of the machine, in the ids of its records
	calls client.Calls[fsm.UUID, P, R]
	all   func(context.Context) iter.Seq2[client.Snapshot[R], error]
	tried map[string]int64 // id to the version at which the wrong event was fired

	mu   sync.Mutex
	seen Seen
}

// play returns the callers of the machine in a place of Machines, by the two halves of its client.
func play[S fmt.Stringer, E any, P fsm.Payload, R fsm.Record](in In, place int, s scenario[P, R], calls client.Calls[fsm.UUID, P, R], records client.Records[tx, fsm.UUID, S, E, P, R]) Callers {
	var anyState S
	all := func(ctx context.Context) iter.Seq2[client.Snapshot[R], error] { return records.All(ctx, anyState) }
	return &callers[P, R]{scenario: s, In: in, place: place, calls: calls, all: all, tried: map[string]int64{}}
}

// Seen implements Callers.
func (c *callers[P, R]) Seen() Seen {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen
}

// Serve implements Callers. A new record is opened every round. On a busy machine rounds are rarer,
// so that the worker gets its share.
func (c *callers[P, R]) Serve(ctx context.Context) error {
	const pause = 80 * time.Millisecond
	for ctx.Err() == nil && (c.open == nil || !c.Seen().Done) {
		began := time.Now()
		seen, err := c.round(ctx, c.Seen())
		if err != nil && ctx.Err() == nil {
			return err
		}
		c.mu.Lock()
		c.seen = seen
		c.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(max(pause, 2*time.Since(began))):
		}
	}
	return nil
}

// idOf is the id of record n of the machine in a place; numberOf is its inverse.
func idOf(place, n int) fsm.UUID   { return fsm.UUID{6: 0x40, 8: 0x80, 9: byte(place), 15: byte(n)} }
func numberOf(id fsm.UUID) (n int) { return int(id[15]) }

// create opens record n. The key makes it safe to try again.
func (c *callers[P, R]) create(ctx context.Context, n int) error {
	o, err := c.open(n, c.Clock.Now())
	if err != nil {
		return err
	}
	id := idOf(c.place, n)
	_, err = c.calls.Create(ctx, id, o.event, actor(o.by), engine.Key("open "+id.String()))
	return err
}

// round opens a record, if one is left to open, and fires at all records at once.
func (c *callers[P, R]) round(ctx context.Context, before Seen) (seen Seen, err error) {
	seen = Seen{Opened: before.Opened, Refused: before.Refused}
	if c.open != nil && seen.Opened < c.Records {
		if err := c.create(ctx, seen.Opened); err != nil {
			return seen, err
		}
		seen.Opened++
	}
	var firing sync.WaitGroup
	var mu sync.Mutex // guards seen.Refused and err
	done := func(refused int, failure error) {
		mu.Lock()
		defer mu.Unlock()
		seen.Refused += refused
		err = errors.Join(err, failure)
	}
	for s, failure := range c.all(ctx) {
		m, id, failed := c.decide(s, failure)
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
	seen.Done = (c.open == nil || seen.Opened == c.Records) && seen.Resting == seen.Records
	return seen, err
}

// decide returns the move of a record that was read.
func (c *callers[P, R]) decide(s client.Snapshot[R], failure error) (move[P], fsm.UUID, error) {
	if err := errors.Join(failure, s.Err); err != nil {
		return move[P]{}, fsm.UUID{}, err
	}
	id, err := fsm.ParseUUID(s.ID)
	if err != nil {
		return move[P]{}, id, err
	}
	return c.next(s.Record, point{numberOf(id), s.Version, c.Clock.Now()}), id, nil
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
