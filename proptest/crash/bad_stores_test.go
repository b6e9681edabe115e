package crash_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/internal/pgtest"
	"github.com/fsmgen/fsmgen/proptest/crash"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// What is around the engine and does not do its part: the schema and the store.
// Nothing gets lost.

// attempts makes every kind of call of an engine.
func (w *world[Tx]) attempts(e *engine.Engine[Tx], id string) map[string]error {
	_, fire := e.Fire(w.Context(), "deal", id, deal.Accept{}, engine.Call{By: owner, IdempotencyKey: "accept"})
	_, get := e.Get(w.Context(), "deal", id)
	_, list := e.List(w.Context(), "deal", "", "", 0)
	_, letters := e.DeadLetters(w.Context(), store.Filter{}, "", 0)
	_, work := e.Step(w.Context())
	return map[string]error{"Fire": fire, "Get": get, "List": list, "DeadLetters": letters, "Step": work}
}

// acceptsAfterAll fails the test unless the attempted event is accepted now, once, and
// its effects are carried out.
func (w *world[Tx]) acceptsAfterAll(e *engine.Engine[Tx], id string) {
	w.Helper()
	for _, replayed := range []bool{false, true} {
		o, err := e.Fire(w.Context(), "deal", id, deal.Accept{}, engine.Call{By: owner, IdempotencyKey: "accept"})
		must(w.T, err)
		if o.Replayed != replayed || o.Version != 3 {
			w.Errorf("it leads to version %d, replayed %t", o.Version, o.Replayed)
		}
	}
	w.works(e)
	if got, want := w.transitions(e, "deal", id), []string{"create", "submit_offer", "accept"}; !slices.Equal(got, want) {
		w.Errorf("the history tells %v, want %v", got, want)
	}
	if n := w.count("fsm_outbox WHERE state <> 'delivered'"); n != 0 {
		w.Errorf("%d messages are not delivered", n)
	}
}

// TestSchemaOfAnotherVersion: an engine refuses to work with tables of a newer or older
// version, and names the versions. After Migrate it works.
func TestSchemaOfAnotherVersion(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { otherSchema(sqliteWorld(t)) })
	t.Run("postgres", func(t *testing.T) { otherSchema(postgresWorld(t)) })
}

func otherSchema[Tx any](w *world[Tx]) {
	m := deal.Define[Tx](nil, deal.DefaultParams())
	e := w.engine(m)
	id := w.offered(e)
	w.works(e)
	var known int
	must(w.T, w.sql.QueryRow("SELECT max(version) FROM fsm_schema").Scan(&known))
	refuses := func(e *engine.Engine[Tx], found int) {
		w.Helper()
		for what, err := range w.attempts(e, id) {
			var schema *store.SchemaError
			if !errors.As(err, &schema) || schema.Found != found || schema.Known != known {
				w.Errorf("%s with version %d says %v", what, found, err)
			}
		}
	}
	_, err := w.sql.Exec("INSERT INTO fsm_schema (version) VALUES (99)")
	must(w.T, err)
	newer := w.engineBefore(w.store(), m)
	refuses(newer, 99)
	var schema *store.SchemaError
	if err := newer.Migrate(w.Context()); !errors.As(err, &schema) {
		w.Errorf("Migrate says %v", err)
	}
	_, err = w.sql.Exec("DELETE FROM fsm_schema WHERE version = 99")
	must(w.T, err)

	down := w.store().(interface {
		MigrateTo(ctx context.Context, version int) error
	})
	must(w.T, down.MigrateTo(w.Context(), known-1))
	older := w.engineBefore(w.store(), m)
	refuses(older, known-1)
	must(w.T, older.Migrate(w.Context()))
	w.acceptsAfterAll(older, id)
}

// TestReadOnlyStore: calls that write return an error, calls that read succeed, and
// nothing is lost.
func TestReadOnlyStore(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "world.db")
		readOnly(newWorld(t, sqliteAt(file)), sqliteAt(file), func(only bool) {
			// The version of the format that writers have to know; 2 is the write-ahead log.
			version := byte(2)
			if only {
				version = 3
			}
			f, err := os.OpenFile(file, os.O_WRONLY, 0)
			must(t, err)
			_, err = f.WriteAt([]byte{version}, 18)
			must(t, errors.Join(err, f.Close()))
		})
	})
	t.Run("postgres", func(t *testing.T) {
		dsn := pgtest.DSN(t)
		schema, value := pgtest.Schema(t, dsn), "off"
		readOnly(newWorld(t, postgresIn(dsn, schema)), postgresIn(dsn, schema, func(c *pgxpool.Config) {
			c.ConnConfig.RuntimeParams["default_transaction_read_only"] = value
		}), func(only bool) {
			value = "off"
			if only {
				value = "on"
			}
		})
	})
}

// readOnly makes the database read-only, and then writable again. No process has it open
// when it changes.
func readOnly[Tx any](w *world[Tx], d crash.Database[Tx], set func(only bool)) {
	m := deal.Define[Tx](nil, deal.DefaultParams())
	var id string
	for i, visit := range []struct {
		only bool
		do   func(*engine.Engine[Tx])
	}{
		{false, func(e *engine.Engine[Tx]) {
			must(w.T, e.Migrate(w.Context()))
			id = w.offered(e)
		}},
		{true, func(e *engine.Engine[Tx]) {
			for what, err := range w.attempts(e, id) {
				if writes := what == "Fire" || what == "Step"; writes != errors.Is(err, store.ErrStore) || !writes && err != nil {
					w.Errorf("%s says %v", what, err)
				}
			}
			w.in(e, "deal", id, "OFFER_PENDING")
		}},
		{false, func(e *engine.Engine[Tx]) { w.acceptsAfterAll(e, id) }},
	} {
		if i > 0 {
			set(visit.only)
		}
		s, closeStore, err := d.Open(w.Context())
		must(w.T, err)
		visit.do(w.engineBefore(s, m))
		must(w.T, closeStore())
	}
}

// TestStoreGone stops the database under a running worker and a caller, and starts it
// again. Both continue without help.
func TestStoreGone(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "world.db")
		storeGone(newWorld(t, sqliteAt(file)), func() { must(t, os.Rename(file, file+".away")) }, func() { must(t, os.Rename(file+".away", file)) })
	})
	t.Run("postgres", func(t *testing.T) {
		dsn := pgtest.DSN(t)
		p := pgtest.Proxy(t, dsn)
		storeGone(newWorld(t, postgresIn(dsn, pgtest.Schema(t, dsn), func(c *pgxpool.Config) {
			c.ConnConfig.DialFunc = p.Dial
			c.MaxConns = 4
		})), p.Refuse, p.Restore)
	})
}

func storeGone[Tx any](w *world[Tx], take, bring func()) {
	e := w.engine(deal.Define[Tx](nil, deal.DefaultParams()))
	id := w.offered(e)
	ctx, stop := context.WithCancel(w.Context())
	defer stop()
	started, ended := make(chan struct{}, 100), make(chan error, 1)
	w.handle = func(context.Context, fsm.Dispatch) (*fsm.Event, error) {
		started <- struct{}{}
		return nil, nil
	}
	go func() { ended <- e.Run(ctx) }()
	<-started
	take()
	_, err := e.Fire(ctx, "deal", id, deal.Accept{}, engine.Call{By: owner, IdempotencyKey: "accept"})
	if !errors.Is(err, store.ErrStore) || !contains(err, id) {
		w.Errorf("without a store, Fire says %v", err)
	}
	bring()
	outcome, err := e.Fire(ctx, "deal", id, deal.Accept{}, engine.Call{By: owner, IdempotencyKey: "accept"})
	for tries := 0; errors.Is(err, store.ErrStore) && tries < 10; tries++ { // each dead connection of the pool may say so once
		outcome, err = e.Fire(ctx, "deal", id, deal.Accept{}, engine.Call{By: owner, IdempotencyKey: "accept"})
	}
	must(w.T, err)
	if outcome.Version != 3 {
		w.Errorf("it leads to version %d", outcome.Version)
	}
	w.awaitEmptyOutbox(func() { w.clock.add(time.Second) }) // the leases of what was cut off run out
	stop()
	must(w.T, <-ended)
	w.acceptsAgain(e, id)
}

// acceptsAgain fails the test unless the key of the event is used, and the event is in
// the history once.
func (w *world[Tx]) acceptsAgain(e *engine.Engine[Tx], id string) {
	w.Helper()
	o, err := e.Fire(w.Context(), "deal", id, deal.Accept{}, engine.Call{By: owner, IdempotencyKey: "accept"})
	must(w.T, err)
	if got, want := w.transitions(e, "deal", id), []string{"create", "submit_offer", "accept"}; !o.Replayed || !slices.Equal(got, want) {
		w.Errorf("replayed is %t, and the history tells %v, want %v", o.Replayed, got, want)
	}
}
