package engine_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// drifting is a store whose database differs.
type drifting struct {
	engine.Store[*sql.Tx]
	deployed string
}

// Migrate says so.
func (d drifting) Migrate(context.Context, []store.Machine) error {
	return &engine.DriftError{Machines: []engine.Drift{{
		Machine: "deal", Version: "1.0.0", Deployed: d.deployed, Differences: []string{"trigger deal_update of deals is another"},
	}}}
}

// TestDriftOfALaterVersionIsTold: a program that starts again while others are being
// updated says that it is the earlier one, and goes on.
func TestDriftOfALaterVersionIsTold(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	migrate := func(deployed string) error {
		e, err := engine.New[*sql.Tx](drifting{s.store, deployed}, s.config, s.machines()...)
		if err != nil {
			t.Fatal(err)
		}
		return e.Migrate(t.Context())
	}
	if err := migrate("1.0.1"); err != nil {
		t.Error(err)
	}
	if l := s.flush(); !strings.Contains(l, "a later version of the machine was deployed") {
		t.Errorf("seen:\n%s", l)
	}
	for _, deployed := range []string{"1.0.0", "0.9.0", ""} {
		err := migrate(deployed)
		const want = "the database differs from what this program was generated with: machine deal, version 1.0.0: trigger deal_update of deals is another: " +
			"apply the schema of this version, or run the version that the database was made for"
		if !errors.Is(err, engine.ErrDrift) || err.Error() != want {
			t.Errorf("after %q: %v", deployed, err)
		}
	}
}
