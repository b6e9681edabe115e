package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// pageLimit is the largest page of an answer. Half of it is the default.
const pageLimit = 1000

// Get returns a record. It returns ErrNotFound if there is none, ErrCorrupt if it can't be read,
// and ErrUnknownState if this program does not know its state.
func (e *Engine[T]) Get(ctx context.Context, machine, id string) (Snapshot, error) {
	s, err := e.get(ctx, machine, id)
	if err != nil {
		return Snapshot{}, fmt.Errorf("get %s %s: %w", machine, id, err)
	}
	return s, nil
}

// Legal reports which events a caller may fire at a record now, what that depends on in their
// payloads, and why the other events are not legal. It returns the record too: with
// Snapshot.Version as Call.IfVersion an event is applied to that version or not at all. Errors:
// those of Get, and a caller that the machine does not know.
func (e *Engine[T]) Legal(ctx context.Context, machine, id string, by fsm.Caller) ([]fsm.Verdict, Snapshot, error) {
	s, err := e.Get(ctx, machine, id)
	if err != nil {
		return nil, Snapshot{}, err
	}
	verdicts, err := e.machines[machine].Legal(s.Record, by, e.now())
	if err != nil {
		return nil, Snapshot{}, fmt.Errorf("legal events of %s %s: %w", machine, id, err)
	}
	return verdicts, s, nil
}

func (e *Engine[T]) get(ctx context.Context, machine, id string) (Snapshot, error) {
	m, key, err := e.machine(machine, id)
	if err != nil {
		return Snapshot{}, err
	}
	page, err := e.store.Read(ctx, store.Read{
		Kind: store.ReadRecord, Machine: machine, Tables: m.tables, Blank: m.Blank, ID: fsm.Text(key), IDValue: key, Limit: 1,
	})
	switch {
	case err != nil:
		return Snapshot{}, err
	case len(page.Records) == 0:
		return Snapshot{}, ErrNotFound
	}
	s := m.snapshot(page.Records[0])
	return s, s.Err
}

// List returns records of a machine by ascending id, above the id after ("" for the first page). A
// state other than "" narrows the list to it.
func (e *Engine[T]) List(ctx context.Context, machine, state, after string, limit int) ([]Snapshot, error) {
	m, err := e.lookup(machine)
	if err != nil {
		return nil, err
	}
	q := store.Read{Kind: store.ReadRecords, Machine: machine, Tables: m.tables, Blank: m.Blank, State: state, Limit: bounded(limit)}
	if after != "" {
		if _, q.After, err = e.machine(machine, after); err != nil {
			return nil, err
		}
	}
	page, err := e.store.Read(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", machine, err)
	}
	out := make([]Snapshot, len(page.Records))
	for i, row := range page.Records {
		out[i] = m.snapshot(row)
	}
	return out, nil
}

// History returns the steps of a record above version after (0 for the first page), in order.
func (e *Engine[T]) History(ctx context.Context, machine, id string, after int64, limit int) ([]HistoryRow, error) {
	m, key, err := e.machine(machine, id)
	if err != nil {
		return nil, err
	}
	page, err := e.store.Read(ctx, store.Read{
		Kind: store.ReadHistory, Machine: machine, Tables: m.tables, ID: fsm.Text(key), IDValue: key, AfterVersion: after, Limit: bounded(limit),
	})
	if err != nil {
		return nil, fmt.Errorf("history of %s %s: %w", machine, id, err)
	}
	return page.History, nil
}

func (d *definition[T]) snapshot(row store.Row) Snapshot {
	s := Snapshot{Record: row.Record, Version: row.Version, EnteredAt: row.EnteredAt, Err: d.unreadable(row.Err)}
	if row.Record != nil {
		s.ID = fsm.Text(row.Record.Values()[0])
		return s
	}
	var corrupt *CorruptError
	if errors.As(row.Err, &corrupt) {
		s.ID = corrupt.ID
	}
	return s
}

// bounded keeps a page's size between 1 and pageLimit.
func bounded(limit int) int {
	if limit <= 0 {
		return pageLimit / 2
	}
	return min(limit, pageLimit)
}
