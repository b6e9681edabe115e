package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// drift compares the database with the schemas of machines. It returns the differences, or nil if
// there are none.
func drift(ctx context.Context, tx *sql.Tx, machines []store.Machine) (*store.DriftError, error) {
	there, err := objects(ctx, tx)
	if err != nil {
		return nil, err
	}
	var drifts []store.Drift
	for _, m := range machines {
		wanted, err := objectsOf(ctx, m)
		if err != nil {
			return nil, fmt.Errorf("machine %s: %w", m.Name(), err)
		}
		if differences := store.Differences(m.Name(), wanted, there); len(differences) > 0 {
			deployed := store.RowRulesOf(m).VersionOf(there[store.SchemaObject{Kind: store.TriggerObject, Table: "fsm_outbox", Name: messageRule + m.Name()}])
			drifts = append(drifts, store.Drift{Machine: m.Name(), Version: m.Version(), Deployed: deployed, Differences: differences})
		}
	}
	if len(drifts) == 0 {
		return nil, nil
	}
	return &store.DriftError{Machines: drifts}, nil
}

// objectsOf returns the triggers and indices that the schema of a machine creates in an empty
// database.
func objectsOf(ctx context.Context, m store.Machine) (found map[store.SchemaObject]string, err error) {
	schema, err := m.Schema("sqlite")
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1) // each connection to :memory: has its own database
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return nil, err
	}
	return objects(ctx, db)
}

// objects returns the triggers and indices of a database with the statements that created them.
func objects(ctx context.Context, q querier) (map[store.SchemaObject]string, error) {
	found := map[store.SchemaObject]string{}
	err := each(ctx, q, func(c *cells) { found[store.SchemaObject{Kind: c.text(), Table: c.text(), Name: c.text()}] = c.text() },
		"SELECT type, tbl_name, name, sql FROM sqlite_schema WHERE type IN ('trigger', 'index') AND sql IS NOT NULL")
	return found, err
}
