//go:build unix

package postgres

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fsmgen/fsmgen/internal/pgtest"
	"github.com/fsmgen/fsmgen/proptest/enginecases"
	"github.com/fsmgen/fsmgen/proptest/storetest"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// TestEngineBehindPgBouncer sets what the documentation of the package says for
// PgBouncer in transaction mode, and lets an engine work.
func TestEngineBehindPgBouncer(t *testing.T) {
	bouncer := pgtest.PgBouncer(t, pgtest.DSN(t),
		"ignore_startup_parameters = default_transaction_isolation,enable_seqscan,jit,search_path")
	enginecases.Run(t, func(t *testing.T) storetest.Subject[pgx.Tx] {
		d := openDatabase(t)
		d.role(t)
		subject := d.subject(t)
		subject.Store = d.storeBehind(t, bouncer)
		subject.Reopen = func(t *testing.T) store.Store[pgx.Tx] { return d.storeBehind(t, bouncer) }
		return subject
	})
}

// role makes a role with the name of the schema, which has the settings of PoolConfig.
func (d *database) role(t *testing.T) {
	t.Helper()
	d.exec(t, "CREATE ROLE "+d.schema+" LOGIN SUPERUSER")
	t.Cleanup(func() { d.exec(t, "DROP OWNED BY "+d.schema+" CASCADE; DROP ROLE "+d.schema) })
	for _, setting := range []string{"search_path = " + d.schema, "enable_seqscan = off", "jit = off", "default_transaction_isolation = 'read committed'"} {
		d.exec(t, "ALTER ROLE "+d.schema+" SET "+setting)
	}
}

// storeBehind opens a store whose connections go through a PgBouncer.
func (d *database) storeBehind(t *testing.T, bouncer string) *Store {
	t.Helper()
	config, err := PoolConfig(bouncer+" user="+d.schema+" default_query_exec_mode=cache_describe", Options{Schema: d.schema})
	must(t, err)
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	must(t, err)
	t.Cleanup(pool.Close)
	s, err := New(pool, Options{Schema: d.schema})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close(context.Background())) })
	return s
}
