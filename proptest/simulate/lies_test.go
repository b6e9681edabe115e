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

// TestEveryLieIsFound: a store that breaks one promise of engine.Store does not
// get through the audit.
func TestEveryLieIsFound(t *testing.T) {
	const most = 50 // seeds, the first
	honest := sqlites(t)
	lies := map[string]lie{
		"loses messages":      {save: func(c *store.Commit) { c.Outbox = nil }},
		"forgets keys":        {save: func(c *store.Commit) { c.IdempotencyKeys = nil }},
		"arms no deadline":    {save: func(c *store.Commit) { c.SetDeadlines = nil }},
		"disarms no deadline": {save: func(c *store.Commit) { c.ClearDeadlines = nil }},
		"cancels no work":     {save: func(c *store.Commit) { c.CancelWork = false }},
		"does not fence":      {unfenced: true},
		"loses transactions":  {lost: true},
		"commits what failed": {kept: true},
		"knows no lanes": {save: func(c *store.Commit) {
			c.Outbox = slices.Clone(c.Outbox)
			for i := range c.Outbox {
				c.Outbox[i].Destination = c.Outbox[i].MessageID
			}
		}},
	}
	t.Cleanup(func() {
		if !t.Failed() {
			proof(t, "each of %d lies of a store found within %d seeds", len(lies), most)
		}
	})
	for name, lie := range lies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := honest
			s.Open = func(t *testing.T, machines sqliteMachines) simulate.Subject[*sql.Tx] {
				subject := honest.Open(t, machines)
				subject.Store = liar{subject.Store, lie, new(int)}
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

// lie is a promise that a store breaks.
type lie struct {
	save                 func(*store.Commit)
	unfenced, lost, kept bool
}

type liar struct {
	store.Store[*sql.Tx]
	lie   lie
	calls *int
}

// errForgotten rolls a transaction back.
var errForgotten = errors.New("forgotten")

// InTx loses every ninth transaction, or keeps what f wrote before it failed.
func (l liar) InTx(ctx context.Context, f func(*sql.Tx) error) error {
	const every = 9
	*l.calls++
	var failed error
	err := l.Store.InTx(ctx, func(tx *sql.Tx) error {
		if failed = f(tx); failed == nil && l.lie.lost && *l.calls%every == 0 {
			return errForgotten
		}
		if l.lie.kept && !errors.Is(failed, store.ErrRefused) {
			return nil
		}
		return failed
	})
	if errors.Is(err, errForgotten) {
		return nil
	}
	return errors.Join(failed, err)
}

// Save leaves something out. The database would refuse a message of another order,
// so the rule goes first.
func (l liar) Save(ctx context.Context, tx *sql.Tx, commits []store.Commit) error {
	commits = slices.Clone(commits)
	for i := range commits {
		if l.lie.save != nil {
			if _, err := tx.ExecContext(ctx, "DROP TRIGGER IF EXISTS fsm_message_"+commits[i].Machine); err != nil {
				return err
			}
			l.lie.save(&commits[i])
		}
		if task := commits[i].Task; l.lie.unfenced && task != nil {
			commits[i].Task = nil
			if err := l.Settle(ctx, tx, *task); err != nil {
				return err
			}
		}
	}
	return l.Store.Save(ctx, tx, commits)
}

// Settle takes the word of a worker that has lost its lease.
func (l liar) Settle(ctx context.Context, tx *sql.Tx, s store.Settlement) error {
	err := l.Store.Settle(ctx, tx, s)
	if l.lie.unfenced && errors.Is(err, store.ErrLeaseLost) {
		return nil
	}
	return err
}

// Load says that every task is still held.
func (l liar) Load(ctx context.Context, tx *sql.Tx, queries []store.Query) ([]store.Row, error) {
	rows, err := l.Store.Load(ctx, tx, queries)
	for i := range rows {
		rows[i].Held = rows[i].Held || l.lie.unfenced
	}
	return rows, err
}
