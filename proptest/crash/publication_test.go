package crash_test

import (
	"context"
	"errors"
	"testing"

	"github.com/fsmgen/fsmgen/generated/publish"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Machine publish, publication_is_atomic: the publication and the entries of
// its artifact are in one transaction.
func TestPublishAndEntriesShareOneTransaction(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		publishWithEntries(sqliteWorld(t), func(ctx context.Context, tx sqliteTx, statement string) error {
			_, err := tx.ExecContext(ctx, statement)
			return err
		})
	})
	t.Run("postgres", func(t *testing.T) {
		publishWithEntries(postgresWorld(t), func(ctx context.Context, tx postgresTx, statement string) error {
			_, err := tx.Exec(ctx, statement)
			return err
		})
	})
}

// publishWithEntries refuses the publication at each place where the entries
// could come apart from it, and then lets it pass.
func publishWithEntries[Tx any](w *world[Tx], exec func(context.Context, Tx, string) error) {
	store := w.store()
	e := w.engineOn(store, publish.Define[Tx](nil))
	_, err := w.sql.Exec("CREATE TABLE entries (digest text)")
	must(w.T, err)
	id := w.id()
	_, err = e.Create(w.Context(), "publish", id, publish.Create{}, engine.Call{})
	must(w.T, err)

	regret := errors.New("a later write of the transaction fails")
	var failing string // the effect that fails, after it has written
	w.inTx = func(ctx context.Context, tx Tx, d fsm.Dispatch) error {
		if d.Effect == "persist_artifact_entries" {
			if err := exec(ctx, tx, "INSERT INTO entries VALUES ('d')"); err != nil {
				return err
			}
		}
		if d.Effect == failing {
			return regret
		}
		return nil
	}
	fire := func(after error) error {
		return store.InTx(w.Context(), func(tx Tx) error {
			if _, err := e.FireTx(w.Context(), tx, "publish", id, publish.PublishVersion{Policy: publish.PolicyAllow, Digest: "d"}, engine.Call{}); err != nil {
				return err
			}
			return after
		})
	}
	for _, at := range []string{"persist_artifact_entries", "audit", "the caller"} {
		var after error
		if failing = at; at == "the caller" {
			after = regret
		}
		if err := fire(after); !errors.Is(err, regret) {
			w.Fatalf("%s fails: %v", at, err)
		}
		w.in(e, "publish", id, "draft")
		if entries, messages := w.count("entries"), w.count("fsm_outbox"); entries != 0 || messages != 0 {
			w.Errorf("%s fails, and %d entries and %d messages are stored", at, entries, messages)
		}
	}
	failing = ""
	must(w.T, fire(nil))
	w.in(e, "publish", id, "published")
	if n := w.count("entries"); n != 1 {
		w.Errorf("%d entries are stored with the publication, want 1", n)
	}
}
