package engine

import (
	"cmp"
	"context"
	"slices"
)

// settle stores the outcome of a task that fires nothing, together with others that
// come at the same time. No two are of one record: an event that leaves the state
// locks all of its record's, and in no order that one could keep to.
func (e *Engine[Tx]) settle(ctx context.Context, s Settlement) error {
	return e.patiently(ctx, func(ctx context.Context) error {
		return e.endings.Do(place{s.Machine, s.RecordID}, &s, e.config.Batch, func(all []*Settlement) error { return e.storeEndings(ctx, all) })
	})
}

// storeEndings stores settlements in one transaction, all or none.
func (e *Engine[Tx]) storeEndings(ctx context.Context, all []*Settlement) error {
	defer e.crew.wake() // their lanes go on
	if len(all) == 1 {
		return e.store.InTx(ctx, func(tx Tx) error { return e.store.Settle(ctx, tx, *all[0]) })
	}
	// In the order in which a batch of firings locks what belongs to the records.
	slices.SortFunc(all, func(a, b *Settlement) int {
		return cmp.Or(cmp.Compare(a.Machine, b.Machine), cmp.Compare(a.RecordID, b.RecordID))
	})
	commits := make([]Commit, len(all))
	for i, s := range all {
		commits[i] = Commit{Machine: s.Machine, ID: s.RecordID, Task: s, Last: i == len(all)-1}
	}
	return e.store.InTx(ctx, func(tx Tx) error { return e.store.Save(ctx, tx, commits) })
}
