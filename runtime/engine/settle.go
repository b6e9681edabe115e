package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// settle stores the outcome of a task that fires no event. Outcomes that arrive at the same time
// share a transaction, but no two of one record: an event that leaves a state locks the messages
// of its record in no particular order. An outcome whose row is locked is stored alone, so that it
// delays no other.
//
// What an operator decides is tried once: a conflict means that the message has changed.
func (e *Engine[T]) settle(ctx context.Context, s store.Settlement) error {
	onlyPending := func(ctx context.Context) error {
		defer e.workers.wake() // the next message of its ordering key may be due
		return e.store.InTx(ctx, func(tx T) error { return e.store.Settle(ctx, tx, s) })
	}
	if s.Token == (fsm.UUID{}) {
		return e.withStoreTimeout(ctx, onlyPending)
	}
	return e.retryStore(ctx, func(ctx context.Context) error {
		err := e.settlements.Do(place{s.Machine, s.RecordID}, &s, e.config.Batch, func(all []*store.Settlement) error { return e.settleAll(ctx, all) })
		if errors.Is(err, ErrConflict) {
			return onlyPending(ctx)
		}
		return err
	})
}

// settleAll stores settlements in one transaction, all or none. It waits for locks only briefly,
// since other calls wait for it.
func (e *Engine[T]) settleAll(ctx context.Context, all []*store.Settlement) error {
	defer e.workers.wake() // the next messages of their ordering keys may be due
	if len(all) == 1 {
		s := *all[0]
		s.ShortLockWait = true
		return e.store.InTx(ctx, func(tx T) error { return e.store.Settle(ctx, tx, s) })
	}
	// In the order in which a batch of firings locks what belongs to the records.
	slices.SortFunc(all, func(a, b *store.Settlement) int {
		return cmp.Or(cmp.Compare(a.Machine, b.Machine), cmp.Compare(a.RecordID, b.RecordID))
	})
	commits := make([]store.Commit, len(all))
	for i, s := range all {
		commits[i] = store.Commit{Machine: s.Machine, ID: s.RecordID, Task: s, ShortLockWait: i == 0, Last: i == len(all)-1}
	}
	return e.store.InTx(ctx, func(tx T) error { return e.store.Save(ctx, tx, commits) })
}
