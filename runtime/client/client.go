package client

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Words parses the words of a machine that a store has as text.
type Words[S, E any, P fsm.Payload] struct {
	State  func(string) (S, error)
	Event  func(string) (E, error)
	Decode func(event string, payload []byte) (P, error)
}

// Records reads and fires batches at the records of one machine: S is its state, E its
// event, P its closed set of payloads, R its record, and ID the type of its ids. It is
// safe for concurrent use.
type Records[Tx any, ID any, S fmt.Stringer, E any, P fsm.Payload, R fsm.Record] struct {
	machine string
	engine  Engine[Tx]
	words   Words[S, E, P]
}

// Client is embedded in the generated Client of a machine, beside its Calls. An event with the
// name of a method of Records hides it: orders.List fires, orders.Client.List reads.
type Client[Tx any, ID any, S fmt.Stringer, E any, P fsm.Payload, R fsm.Record] struct {
	Records[Tx, ID, S, E, P, R]
}

// NewClient returns the client of a machine.
func NewClient[ID any, R fsm.Record, Tx any, S fmt.Stringer, E any, P fsm.Payload](machine string, e Engine[Tx], words Words[S, E, P]) Client[Tx, ID, S, E, P, R] {
	return Client[Tx, ID, S, E, P, R]{Records[Tx, ID, S, E, P, R]{machine: machine, engine: e, words: words}}
}

// FirerIn returns a Firer inside a transaction of the caller.
func (c Records[Tx, ID, S, E, P, R]) FirerIn(tx Tx) Firer { return inTx[Tx]{c.engine, tx} }

// Committed must be called with the outcomes of a transaction of the caller after its commit. The
// engine logs them and wakes its workers.
func (c Records[Tx, ID, S, E, P, R]) Committed(ctx context.Context, outcomes ...Outcome[R]) {
	list := make([]Outcome[fsm.Record], len(outcomes))
	for i, o := range outcomes {
		list[i] = untyped(o)
	}
	c.engine.Committed(ctx, list...)
}

// Event is one event of a batch.
type Event[ID any, P fsm.Payload] struct {
	ID     ID
	Event  P
	Call   Call
	Create bool // the event makes the record
}

// FireBatch applies many events, with an outcome each, in their order. An event that was
// not accepted has Outcome.Err. The error is that of ctx: the outcomes up to there are
// returned with it.
func (c Records[Tx, ID, S, E, P, R]) FireBatch(ctx context.Context, events ...Event[ID, P]) ([]Outcome[R], error) {
	firings := make([]Firing, len(events))
	for i, e := range events {
		firings[i] = Firing{Machine: c.machine, ID: text(e.ID), Event: e.Event, Call: e.Call, Create: e.Create}
	}
	outcomes, failed := c.engine.FireBatch(ctx, firings)
	list := make([]Outcome[R], len(outcomes))
	for i, o := range outcomes {
		t, err := typed[R](c.machine, o, nil)
		if err != nil {
			t.Err = err
		}
		list[i] = t
	}
	return list, failed
}

// Get returns a record. Its errors are those of the engine.
func (c Records[Tx, ID, S, E, P, R]) Get(ctx context.Context, id ID) (Snapshot[R], error) {
	s, err := c.engine.Get(ctx, c.machine, text(id))
	if err != nil {
		return Snapshot[R]{}, err
	}
	return c.snapshot(s)
}

// List returns records in a state, or in any if state is the zero value, by ascending
// id, above the id after (nil for the first page). 0 is the engine's own limit.
func (c Records[Tx, ID, S, E, P, R]) List(ctx context.Context, state S, after *ID, limit int) ([]Snapshot[R], error) {
	from := ""
	if after != nil {
		from = text(*after)
	}
	return c.page(ctx, state, from, limit)
}

// pageLimit is how many records All reads at a time.
const pageLimit = 500

// All returns every record in a state, or in any if state is the zero value, by ascending
// id. It reads page by page. After an error it ends.
func (c Records[Tx, ID, S, E, P, R]) All(ctx context.Context, state S) iter.Seq2[Snapshot[R], error] {
	return func(yield func(Snapshot[R], error) bool) {
		for after := ""; ; {
			page, err := c.page(ctx, state, after, pageLimit)
			if err != nil {
				yield(Snapshot[R]{}, err)
				return
			}
			for _, s := range page {
				if after = s.ID; !yield(s, nil) {
					return
				}
			}
			if len(page) < pageLimit {
				return
			}
		}
	}
}

func (c Records[Tx, ID, S, E, P, R]) page(ctx context.Context, state S, after string, limit int) ([]Snapshot[R], error) {
	name := ""
	if any(state) != any(*new(S)) {
		name = state.String()
	}
	found, err := c.engine.List(ctx, c.machine, name, after, limit)
	if err != nil {
		return nil, err
	}
	page := make([]Snapshot[R], len(found))
	for i, s := range found {
		if page[i], err = c.snapshot(s); err != nil {
			return nil, err
		}
	}
	return page, nil
}

func (c Records[Tx, ID, S, E, P, R]) snapshot(s Snapshot[fsm.Record]) (Snapshot[R], error) {
	t := Snapshot[R]{ID: s.ID, Version: s.Version, EnteredAt: s.EnteredAt, Err: s.Err}
	if s.Record == nil {
		return t, nil
	}
	var err error
	t.Record, err = recordOf[R](c.machine, s.Record)
	return t, err
}

// Taken is one transition of a record: a row of its history.
type Taken[S, P any] struct {
	EventID     fsm.UUID
	Version     int64  // after the step; 1: creation
	Transition  string // the name of the row in the spec
	From        S      // the zero value: creation
	To          S
	Event       P
	By          fsm.Caller
	Correlation string
	At          time.Time
	Forced      *Forced // by an operator; nil: it was not
	// Err says that the row has a state or an event of another version of the machine. That field
	// is empty then; Row has it as text.
	Err error
	Row HistoryRow
}

// History returns the transitions that a record took, in their order, those above
// version after (0 for the first page).
func (c Records[Tx, ID, S, E, P, R]) History(ctx context.Context, id ID, after int64, limit int) ([]Taken[S, P], error) {
	rows, err := c.engine.History(ctx, c.machine, text(id), after, limit)
	if err != nil {
		return nil, err
	}
	list := make([]Taken[S, P], len(rows))
	for i, row := range rows {
		list[i] = c.taken(row)
	}
	return list, nil
}

func (c Records[Tx, ID, S, E, P, R]) taken(row HistoryRow) Taken[S, P] {
	t := Taken[S, P]{
		EventID: row.EventID, Version: row.Version, Transition: row.Transition, By: row.By,
		Correlation: row.Correlation, At: row.At, Forced: row.Forced, Row: row,
	}
	if row.From != "" {
		t.From, t.Err = c.words.State(row.From)
	}
	if t.Err == nil {
		t.To, t.Err = c.words.State(row.To)
	}
	if t.Err == nil {
		t.Event, t.Err = c.words.Decode(row.Event, row.Payload)
	}
	return t
}

// Verdict reports whether a caller may fire an event at a record now.
type Verdict[E any] struct {
	Event E
	fsm.Verdict
}

// Legal reports which events a caller may fire at a record now, what that depends on in their
// payloads, and why the other events are not legal. It returns the record too: with IfVersion an
// event is applied to that version or not at all.
func (c Records[Tx, ID, S, E, P, R]) Legal(ctx context.Context, id ID, by Option) ([]Verdict[E], Snapshot[R], error) {
	found, s, err := c.engine.Legal(ctx, c.machine, text(id), CallOf(by).By)
	if err != nil {
		return nil, Snapshot[R]{}, err
	}
	verdicts := make([]Verdict[E], len(found))
	for i, v := range found {
		event, err := c.words.Event(v.Event)
		if err != nil {
			return nil, Snapshot[R]{}, err
		}
		verdicts[i] = Verdict[E]{Event: event, Verdict: v}
	}
	snapshot, err := c.snapshot(s)
	return verdicts, snapshot, err
}
