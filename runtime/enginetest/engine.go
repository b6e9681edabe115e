package enginetest

import (
	"database/sql"
	"log/slog"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/adapters/sqlite"
	"github.com/fsmgen/fsmgen/runtime/engine"
)

// Engine is an engine with its clock and its store.
type Engine struct {
	*engine.Engine[*sql.Tx]
	Clock *Clock
	Store *sqlite.Store
}

// New returns an engine for one test, on a migrated store of its own, which is closed
// with the test. The clock shows the first moment of 2026, repeats have no jitter, and
// the log is the output of the test. New stops the test if the engine can't be made.
func New(t testing.TB, machines ...engine.Machine[*sql.Tx]) *Engine {
	t.Helper()
	store, err := sqlite.Temporary(t.Context(), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	clock := NewClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	middle := func() float64 { return 0.5 }
	e, err := engine.New(store, engine.Config{Clock: clock, Rand: middle, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}, machines...)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &Engine{Engine: e, Clock: clock, Store: store}
}
