package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// loaded is what a load found for an event.
type loaded struct {
	store.Row
	// holder is the record that an earlier creation with the same key made, and holderID its
	// id; nil: there is none.
	holder   fsm.Record
	holderID string
}

// load returns a row for each request. It asks the store only for what can't be foreseen. An
// event's own key may depend on the record, so it is looked up again if the record changes it.
func (e *Engine[T]) load(ctx context.Context, tx T, requests ...request[T]) ([]loaded, error) {
	rows := make([]loaded, len(requests))
	queries := make([]store.Query, 0, len(requests))
	asked := make([]int, 0, len(requests)) // which request each query is of
	for i, r := range requests {
		row, ok := r.foreseen()
		if ok {
			rows[i].Row = row
			continue
		}
		q := r.query()
		// What a batch asks for is claimed as well as it was stored: many at a time.
		q.OnlyPending = len(requests) == 1 && !r.create && (e.inlines || e.workers.any())
		queries, asked = append(queries, q), append(asked, i)
	}
	if len(queries) == 0 {
		return rows, nil
	}
	found, err := e.store.Load(ctx, tx, queries)
	if err != nil {
		return nil, err
	}
	if len(found) != len(queries) {
		return nil, store.Failed("load", fmt.Errorf("%d rows for %d queries", len(found), len(queries)))
	}
	for n, i := range asked {
		rows[i].Row = found[n]
		if err := e.loadMissed(ctx, tx, requests[i], queries[n].IdempotencyKeys, &rows[i].Row); err != nil {
			return nil, err
		}
		if err := e.loadHolder(ctx, tx, requests[i], &rows[i]); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// loadMissed looks up the keys of r that are known with its record alone.
func (e *Engine[T]) loadMissed(ctx context.Context, tx T, r request[T], looked []string, row *store.Row) error {
	if row.Record == nil {
		return nil
	}
	missed := slices.DeleteFunc(r.keys(row.Record), func(k string) bool { return slices.Contains(looked, k) })
	if len(missed) == 0 {
		return nil
	}
	again := r.query()
	again.IdempotencyKeys, again.Task = missed, nil
	found, err := e.store.Load(ctx, tx, []store.Query{again})
	if err != nil {
		return err
	}
	row.IdempotencyKeys = append(row.IdempotencyKeys, found[0].IdempotencyKeys...)
	return nil
}

// loadHolder reads the record that an earlier creation with the key of r made.
func (e *Engine[T]) loadHolder(ctx context.Context, tx T, r request[T], row *loaded) error {
	if !r.create {
		return nil
	}
	at := slices.IndexFunc(row.IdempotencyKeys, func(k store.IdempotencyKey) bool { return k.RecordID != r.id && k.Event == r.event.Name })
	if at < 0 {
		return nil
	}
	_, key, err := e.machine(r.machine.Name(), row.IdempotencyKeys[at].RecordID)
	if err != nil {
		return err
	}
	q := r.query()
	q.ID, q.IDValue, q.IdempotencyKeys = row.IdempotencyKeys[at].RecordID, key, nil
	found, err := e.store.Load(ctx, tx, []store.Query{q})
	if err != nil {
		return err
	}
	row.holderID, row.holder = q.ID, found[0].Record
	return r.machine.unreadable(found[0].Err)
}

// foreseen returns what a load would find for an event without a key: nothing for a creation, and
// the record if the task has it. The write finds out whether that was right.
func (r request[T]) foreseen() (row store.Row, ok bool) {
	switch {
	case r.create:
	case r.known != nil:
		row = *r.known
	default:
		return row, false
	}
	return row, len(r.keys(row.Record)) == 0
}

// decide asks the machine and turns its decision into a plan. It has no side effects.
func (e *Engine[T]) decide(r request[T], row loaded) (plan[T], error) {
	if r.task != nil && !row.Held {
		return plan[T]{}, store.ErrLeaseLost
	}
	if r.task != nil && row.Cancelled {
		return plan[T]{}, ErrStateLeft
	}
	if row.Err != nil {
		return plan[T]{}, r.machine.unreadable(row.Err)
	}
	if o, ok, err := r.replay(row); ok || err != nil {
		return e.ended(r, o, row.OnlyPending), err
	}
	if err := r.checkVersion(row.Row); err != nil {
		return plan[T]{}, err
	}
	d, err := r.ask(row.Row, e.config.TwoStep)
	if err != nil {
		return plan[T]{}, err
	}
	if len(d.Steps) == 0 {
		return e.ended(r, Outcome{ID: r.id, Record: d.Record, Version: row.Version, AlreadyThere: true, Correlation: r.correlation}, row.OnlyPending), nil
	}
	return e.plan(r, row.Row, d)
}

// ask lets the machine decide.
func (r request[T]) ask(row store.Row, single bool) (d fsm.Decision, err error) {
	in := fsm.Input{By: r.by, Now: r.now, Single: single}
	switch {
	case r.create && row.Record != nil:
		return d, &ExistsError{Machine: r.machine.Name(), ID: r.id}
	case r.create:
		d, err = r.machine.Create(r.id, r.event, in)
	case row.Record == nil:
		return d, ErrNotFound
	default:
		d, err = r.machine.Fire(row.Record, r.event, in)
	}
	if errors.Is(err, fsm.ErrCorrupt) {
		return d, &CorruptError{Machine: r.machine.Name(), ID: r.id, Err: err}
	}
	return d, err
}

// ended returns the plan of an event that changes nothing: only its task ends.
func (e *Engine[T]) ended(r request[T], o Outcome, onlyPending bool) plan[T] {
	p := plan[T]{outcome: o}
	if r.task != nil {
		c := store.Commit{Machine: r.machine.Name(), Tables: r.machine.tables, ID: r.id, IDValue: r.idValue, Task: r.task}
		p.writes = []pendingWrite{{Commit: c, onlyPending: onlyPending}}
	}
	return p
}
