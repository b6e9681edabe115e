package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// errStateLeft says that the work whose answer is fired belongs to a state that
// was left meanwhile.
var errStateLeft = errors.New("the state that asked for it was left")

// load reads what the requests need, a row each. The key that an event has of
// its own may depend on the record, so it is looked up again where knowing the
// record changes it. Nothing is read for a single creation without a key, or where
// the record is known: whether that was right turns out when it is written.
func (e *Engine[Tx]) load(ctx context.Context, tx Tx, requests ...request[Tx]) ([]Row, error) {
	if r := requests[0]; len(requests) == 1 && r.create && len(r.keys(nil)) == 0 {
		return []Row{{}}, nil
	} else if len(requests) == 1 && r.known != nil && len(r.keys(r.known.Record)) == 0 {
		return []Row{*r.known}, nil
	}
	queries := make([]Query, len(requests))
	for i, r := range requests {
		queries[i] = r.query()
		queries[i].Alone = !r.create && e.crew.there()
	}
	rows, err := e.store.Load(ctx, tx, queries)
	if err != nil {
		return nil, err
	}
	if len(rows) != len(requests) {
		return nil, StoreError("load", fmt.Errorf("%d rows for %d queries", len(rows), len(requests)))
	}
	for i, r := range requests {
		if rows[i].Record == nil {
			continue
		}
		missed := slices.DeleteFunc(r.keys(rows[i].Record), func(k string) bool { return slices.Contains(queries[i].Keys, k) })
		if len(missed) == 0 {
			continue
		}
		again := r.query()
		again.Keys, again.Task = missed, nil
		found, err := e.store.Load(ctx, tx, []Query{again})
		if err != nil {
			return nil, err
		}
		rows[i].Keys = append(rows[i].Keys, found[0].Keys...)
	}
	return rows, nil
}

// decide asks the machine and turns its decision into a plan. It touches
// nothing outside.
func (e *Engine[Tx]) decide(r request[Tx], row Row) (plan[Tx], error) {
	if r.task != nil && !row.Held {
		return plan[Tx]{}, ErrLeaseLost
	}
	if r.task != nil && row.Cancelled {
		return plan[Tx]{}, errStateLeft
	}
	if row.Err != nil {
		return plan[Tx]{}, row.Err
	}
	if o, ok, err := r.replay(row); ok || err != nil {
		return e.ended(r, o, row.Alone), err
	}
	d, err := r.ask(row, e.config.TwoStep)
	if err != nil {
		return plan[Tx]{}, err
	}
	if len(d.Steps) == 0 {
		return e.ended(r, Outcome{Record: d.Record, Version: row.Version, AlreadyThere: true, Correlation: r.correlation}, row.Alone), nil
	}
	return e.plan(r, row, d)
}

// ask lets the machine decide.
func (r request[Tx]) ask(row Row, single bool) (d fsm.Decision, err error) {
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

// ended is the plan of an event that changes nothing: only its task ends.
func (e *Engine[Tx]) ended(r request[Tx], o Outcome, alone bool) plan[Tx] {
	p := plan[Tx]{outcome: o, alone: alone}
	if r.task != nil {
		p.commits = []Commit{{Machine: r.machine.Name(), Tables: r.machine.tables, ID: r.id, Key: r.key, Task: r.task}}
	}
	return p
}
