package engine_test

import (
	"context"
	"database/sql"
	"sync/atomic"

	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// faulty is a real store in whose way a test puts something. Each hook runs
// before the method that it is named after; its error is returned instead.
type faulty struct {
	engine.Store[*sql.Tx]
	save  func(ctx context.Context, tx *sql.Tx) error
	claim func() error
}

func (f *faulty) Save(ctx context.Context, tx *sql.Tx, commits []store.Commit) error {
	if f.save != nil {
		if err := f.save(ctx, tx); err != nil {
			return err
		}
	}
	return f.Store.Save(ctx, tx, commits)
}

func (f *faulty) Claim(ctx context.Context, c store.Claim) ([]store.Task, error) {
	if f.claim != nil {
		if err := f.claim(); err != nil {
			return nil, err
		}
	}
	return f.Store.Claim(ctx, c)
}

// times returns a function that runs f in its first n calls.
func times(n int64, f func() error) func() error {
	var calls atomic.Int64
	return func() error {
		if calls.Add(1) > n {
			return nil
		}
		return f()
	}
}
