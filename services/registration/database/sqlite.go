package database

import (
	"context"
	"database/sql"

	"github.com/fsmgen/fsmgen/adapters/sqlite"
)

// sqliteDatabase is the file of one daemon. While it holds a row, or removes some,
// it has put a token into rows: a transaction would block all other writers.
type sqliteDatabase struct {
	store *sqlite.Store
	rows  chan struct{}
}

func (d sqliteDatabase) name() string { return "sqlite" }

func (d sqliteDatabase) lockMigration() string { return "" }

func (d sqliteDatabase) lockFree() string { return "" }

func (d sqliteDatabase) once(ctx context.Context, f func(querier) error) error { return d.inTx(ctx, f) }

func (d sqliteDatabase) inTx(ctx context.Context, f func(querier) error) error {
	return d.store.InTx(ctx, func(tx *sql.Tx) error { return f(liteQuerier{tx}) })
}

func (d sqliteDatabase) hold(ctx context.Context, of Key, f func() error) error {
	done, err := d.removing(ctx)
	if err != nil {
		return err
	}
	defer done()
	var found bool
	err = d.once(ctx, func(q querier) (err error) {
		var is int
		found, err = one(ctx, q, "SELECT 1 FROM node_registrations WHERE node_id = $1 AND registration_id = $2", []any{of.NodeID, of.RegistrationID}, &is)
		return err
	})
	if err == nil && !found {
		err = ErrNotRegistered
	}
	if err != nil {
		return err
	}
	return f()
}

func (d sqliteDatabase) removing(ctx context.Context) (done func(), err error) {
	select {
	case d.rows <- struct{}{}:
		return func() { <-d.rows }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
