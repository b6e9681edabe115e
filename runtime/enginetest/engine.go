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
	return NewWith(t, engine.Config{}, machines...)
}

// NewWith is New for an engine with a configuration of its own. What New sets is set where the
// configuration leaves it out; the clock is always the test's.
func NewWith(t testing.TB, config engine.Config, machines ...engine.Machine[*sql.Tx]) *Engine {
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
	config.Clock = clock
	if config.Rand == nil {
		config.Rand = func() float64 { return 0.5 }
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	e, err := engine.New(store, config, machines...)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &Engine{Engine: e, Clock: clock, Store: store}
}
