package sqlite_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fsmgen/fsmgen/adapters/sqlite"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// TestDrift changes triggers by hand.
func TestDrift(t *testing.T) {
	t.Parallel()
	for statement, want := range map[string]string{
		"DROP TRIGGER deal_delete; CREATE TRIGGER deal_delete BEFORE DELETE ON deals BEGIN SELECT 1; END": "trigger deal_delete of deals is another",
		"CREATE TRIGGER deal_archive BEFORE DELETE ON deals BEGIN SELECT 1; END":                          "trigger deal_archive of deals is of another version",
	} {
		t.Run(want, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "deals.db")
			db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			machines := []store.Machine{deal.Define[*sql.Tx](nil, deal.DefaultParams())}
			if err := db.Migrate(t.Context(), machines); err != nil {
				t.Fatal(err)
			}
			if _, err := raw(t, path).Exec(statement); err != nil {
				t.Fatal(err)
			}
			err = db.Migrate(t.Context(), machines)
			var drift *store.DriftError
			if !errors.As(err, &drift) || len(drift.Machines) != 1 || !slices.Equal(drift.Machines[0].Differences, []string{want}) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
