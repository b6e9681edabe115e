package postgres

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/proptest/storetest"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// TestDrift changes a schema by hand, in ways that only PostgreSQL has.
func TestDrift(t *testing.T) {
	t.Parallel()
	for statement, want := range map[string]string{
		"ALTER TABLE deals DISABLE TRIGGER deal_update":                                                                         "trigger deal_update of deals is disabled",
		"ALTER TABLE deals ENABLE REPLICA TRIGGER deal_update":                                                                  "trigger deal_update of deals is disabled",
		"CREATE OR REPLACE FUNCTION deal_delete() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN OLD; END'":                  "function deal_delete is another",
		"CREATE OR REPLACE TRIGGER deal_delete BEFORE DELETE ON deals FOR EACH ROW WHEN (false) EXECUTE FUNCTION deal_delete()": "trigger deal_delete of deals is another",
		"CREATE TRIGGER deal_archive BEFORE DELETE ON deals FOR EACH ROW EXECUTE FUNCTION deal_delete()":                        "trigger deal_archive of deals is of another version",
		"ALTER TABLE deals DROP CONSTRAINT deal_rules":                                                                          "constraint deal_rules is not there",
	} {
		t.Run(want, func(t *testing.T) {
			d := openDatabase(t)
			s := d.store(t)
			machines := []store.Machine{deals()}
			must(t, s.Migrate(context.Background(), machines))
			d.exec(t, statement)
			err := s.Migrate(context.Background(), machines)
			var drift *store.DriftError
			if !errors.As(err, &drift) || len(drift.Machines) != 1 || !slices.Equal(drift.Machines[0].Differences, []string{want}) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// TestEveryObjectIsCompared: none that a schema creates is overlooked.
func TestEveryObjectIsCompared(t *testing.T) {
	t.Parallel()
	for _, m := range storetest.Machines[pgx.Tx]() {
		schema, err := m.Schema("postgres")
		must(t, err)
		found := map[string]int{}
		for o := range objectsOf(schema) {
			found[o.Kind]++
		}
		for kind, text := range map[string]string{
			store.FunctionObject: `(?m)^CREATE FUNCTION`, store.TriggerObject: `(?m)^CREATE (CONSTRAINT )?TRIGGER`,
			store.ConstraintObject: `(?m)^( +|ALTER TABLE .* ADD )CONSTRAINT`, store.IndexObject: `(?m)^CREATE (UNIQUE )?INDEX`,
		} {
			if want := len(regexp.MustCompile(text).FindAllString(schema, -1)); found[kind] != want {
				t.Errorf("machine %s: %d of %d, each a %s", m.Name(), found[kind], want, kind)
			}
		}
	}
}
