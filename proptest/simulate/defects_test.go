//go:build !race

package simulate_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"testing"

	"github.com/fsmgen/fsmgen/proptest/simulate"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// TestEveryDefectIsFound has stores that break one sentence of the contract of
// store.Store. The checker must find each.
func TestEveryDefectIsFound(t *testing.T) {
	const most = 50 // seeds, the first
	correct := onSQLite(t)
	defects := map[string]defect{
		"loses messages":      {save: func(c *store.Commit) { c.Outbox = nil }},
		"forgets keys":        {save: func(c *store.Commit) { c.IdempotencyKeys = nil }},
		"sets no deadline":    {save: func(c *store.Commit) { c.SetDeadlines = nil }},
		"clears no deadline":  {save: func(c *store.Commit) { c.ClearDeadlines = nil }},
		"cancels no work":     {save: func(c *store.Commit) { c.CancelWork = false }},
		"does not fence":      {unfenced: true},
		"loses transactions":  {lost: true},
		"commits what failed": {kept: true},
		"ignores ordering keys": {save: func(c *store.Commit) {
			c.Outbox = slices.Clone(c.Outbox)
			for i := range c.Outbox {
				c.Outbox[i].Destination = c.Outbox[i].MessageID
			}
		}},
	}
	t.Cleanup(func() {
		if !t.Failed() {
			proof(t, "each of %d defects of a store found within %d seeds", len(defects), most)
		}
	})
	for name, defect := range defects {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := correct
			s.Open = func(t *testing.T, machines sqliteMachines) simulate.Subject[*sql.Tx] {
				subject := correct.Open(t, machines)
				subject.Store = defectiveStore{subject.Store, defect, new(int)}
				return subject
			}
			for seed := range uint64(most) {
				if r := s.Run(t, seed); len(r.Problems) > 0 {
					t.Logf("seed %d: %s", seed, r.Problems[0])
					return
				}
			}
			t.Errorf("%d seeds found nothing", most)
		})
	}
}

// defect is a sentence of the contract that a store breaks.
type defect struct {
	save                 func(*store.Commit)
	unfenced, lost, kept bool
}

// defectiveStore is a store with a defect.
type defectiveStore struct {
	store.Store[*sql.Tx]
	defect defect
	calls  *int
}

// errLost rolls a transaction back.
var errLost = errors.New("lost")

// InTx loses every ninth transaction, or keeps what f wrote before it failed.
func (l defectiveStore) InTx(ctx context.Context, f func(*sql.Tx) error) error {
	const every = 9
	*l.calls++
	var failed error
	err := l.Store.InTx(ctx, func(tx *sql.Tx) error {
		if failed = f(tx); failed == nil && l.defect.lost && *l.calls%every == 0 {
			return errLost
		}
		if l.defect.kept && !errors.Is(failed, store.ErrRefused) {
			return nil
		}
		return failed
	})
	if errors.Is(err, errLost) {
		return nil
	}
	return errors.Join(failed, err)
}

// Save leaves something out. It drops the trigger that would refuse a message with
// another ordering key.
func (l defectiveStore) Save(ctx context.Context, tx *sql.Tx, commits []store.Commit) error {
	commits = slices.Clone(commits)
	for i := range commits {
		if l.defect.save != nil {
			if _, err := tx.ExecContext(ctx, "DROP TRIGGER IF EXISTS fsm_message_"+commits[i].Machine); err != nil {
				return err
			}
			l.defect.save(&commits[i])
		}
		if task := commits[i].Task; l.defect.unfenced && task != nil {
			commits[i].Task = nil
			if err := l.Settle(ctx, tx, *task); err != nil {
				return err
			}
		}
	}
	return l.Store.Save(ctx, tx, commits)
}

// Settle accepts the settlement of a worker that has lost its lease.
func (l defectiveStore) Settle(ctx context.Context, tx *sql.Tx, s store.Settlement) error {
	err := l.Store.Settle(ctx, tx, s)
	if l.defect.unfenced && errors.Is(err, store.ErrLeaseLost) {
		return nil
	}
	return err
}

// Load reports every task as held.
func (l defectiveStore) Load(ctx context.Context, tx *sql.Tx, queries []store.Query) ([]store.Row, error) {
	rows, err := l.Store.Load(ctx, tx, queries)
	for i := range rows {
		rows[i].Held = rows[i].Held || l.defect.unfenced
	}
	return rows, err
}
