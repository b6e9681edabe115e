package service

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/runtime/client"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Callers fire the events of one machine's records. They are not safe for concurrent use.
type Callers interface {
	// Round opens a record, if one is left to open, and fires once at each record.
	Round(ctx context.Context) error
	// Seen returns what the callers found.
	Seen() Seen
}

// Seen is what callers found: Opened and Refused in all rounds, the rest in the last one.
type Seen struct {
	Wanted, Opened, Refused int // records to open, those that are, events that were refused
	Records, Resting        int // records that are there, those whose callers want nothing more
	Transitions             int64
	Moving                  []string // the records that are not at rest, with their states
}

// Done reports whether every record is open and at rest.
func (s Seen) Done() bool { return s.Opened == s.Wanted && s.Resting == s.Records }

// Add adds what other callers found.
func (s *Seen) Add(o Seen) {
	s.Wanted, s.Opened, s.Refused = s.Wanted+o.Wanted, s.Opened+o.Opened, s.Refused+o.Refused
	s.Records, s.Resting, s.Transitions = s.Records+o.Records, s.Resting+o.Resting, s.Transitions+o.Transitions
	s.Moving = append(s.Moving, o.Moving...)
}

// script says what the callers of a machine do: P is its payloads and R its record.
type script[P fsm.Payload, R fsm.Record] struct {
	// open returns the creation of record n and its caller. nil: another machine starts the records.
	open func(n int, now time.Time) (P, engine.Option)
	// moves lists what the callers do with a record. The first move that applies counts. Without
	// one they wait for the worker or the clock.
	moves func(r R, at point) []move[P]
	// rest lists the states, besides the terminal ones, where a record without a move is at rest.
	rest []fmt.Stringer
}

// point is where the script of a record has come to.
type point struct {
	n       int // which record, from 0; the script depends on it
	version int64
	now     time.Time
}

// always is the condition of a move without one.
const always = true

// move is what callers do with a record in a state, on a condition.
type move[P fsm.Payload] struct {
	in    fmt.Stringer
	when  bool
	by    engine.Option // nil: the system
	event P             // nil: they wait
	wrong P             // fired first, to be refused; nil: nothing
}

// callers plays a script with the typed client of a machine.
type callers[P fsm.Payload, R fsm.Record] struct {
	script[P, R]
	machine engine.Machine[tx]
	clock   engine.Clock
	calls   client.Calls[fsm.UUID, P, R]
	all     func(context.Context) iter.Seq2[client.Snapshot[R], error]
	tried   map[string]int64 // id to the version at which the wrong event was fired
	seen    Seen
}

// play returns the callers of a machine, by the two halves of its client.
func play[S fmt.Stringer, E any, P fsm.Payload, R fsm.Record](in In, m engine.Machine[tx], s script[P, R], calls client.Calls[fsm.UUID, P, R], records client.Records[tx, fsm.UUID, S, E, P, R]) Callers {
	var anyState S
	all := func(ctx context.Context) iter.Seq2[client.Snapshot[R], error] { return records.All(ctx, anyState) }
	c := &callers[P, R]{script: s, machine: m, clock: in.Clock, calls: calls, all: all, tried: map[string]int64{}}
	if s.open != nil {
		c.seen.Wanted = in.Records
	}
	return c
}

// Seen implements Callers.
func (c *callers[P, R]) Seen() Seen { return c.seen }

// Round implements Callers.
func (c *callers[P, R]) Round(ctx context.Context) error {
	seen := Seen{Wanted: c.seen.Wanted, Opened: c.seen.Opened, Refused: c.seen.Refused}
	if seen.Opened < seen.Wanted {
		if err := c.create(ctx, seen.Opened); err != nil {
			return err
		}
		seen.Opened++
	}
	for s, err := range c.all(ctx) {
		if err = errors.Join(err, s.Err); err != nil {
			return err
		}
		seen.Records++
		seen.Transitions += s.Version
		m, found, err := c.next(s)
		if err != nil {
			return err
		}
		if !found && c.rests(s.Record.StateName()) {
			seen.Resting++
			continue
		}
		seen.Moving = append(seen.Moving, fmt.Sprintf("%s in %s", s.ID, s.Record.StateName()))
		refused, err := c.fire(ctx, s, m)
		if err != nil {
			return err
		}
		seen.Refused += refused
	}
	c.seen = seen
	return nil
}

// create opens record n. Its number is the last byte of its id. The key makes it safe to try again.
func (c *callers[P, R]) create(ctx context.Context, n int) error {
	event, by := c.open(n, c.clock.Now())
	id := fsm.UUID{6: 0x40, 8: 0x80, 15: byte(n)}
	_, err := c.calls.Create(ctx, id, event, caller(by), engine.Key(fmt.Sprintf("open %s %d", c.machine.Name(), n)))
	return err
}

// next returns the move of a record; found is false where none applies.
func (c *callers[P, R]) next(s client.Snapshot[R]) (m move[P], found bool, err error) {
	id, err := fsm.ParseUUID(s.ID)
	if err != nil || c.moves == nil {
		return m, false, err
	}
	for _, m := range c.moves(s.Record, point{int(id[15]), s.Version, c.clock.Now()}) {
		if m.when && m.in.String() == s.Record.StateName() {
			return m, true, nil
		}
	}
	return m, false, nil
}

func (c *callers[P, R]) rests(state string) bool {
	return slices.Contains(c.machine.TerminalStates(), state) ||
		slices.ContainsFunc(c.rest, func(s fmt.Stringer) bool { return s.String() == state })
}

// fire makes a move and counts what was refused. The key names the version that the caller saw: the
// same move counts once, however often it is made.
func (c *callers[P, R]) fire(ctx context.Context, s client.Snapshot[R], m move[P]) (refused int, err error) {
	id, err := fsm.ParseUUID(s.ID)
	if err != nil {
		return 0, err
	}
	if any(m.wrong) != nil && c.tried[s.ID] != s.Version {
		c.tried[s.ID] = s.Version
		_, err := c.calls.Fire(ctx, id, m.wrong, caller(m.by))
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
	_, err = c.calls.Fire(ctx, id, m.event, caller(m.by), engine.Key(fmt.Sprintf("%s %s at %d", c.machine.Name(), id, s.Version)))
	n, err := refusal(err)
	return refused + n, err
}

// caller is the one who fires: the system, if the script names none.
func caller(by engine.Option) engine.Option {
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
