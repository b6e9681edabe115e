package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/engine"
)

// object is a trigger or an index of a file.
type object struct{ kind, table, name string }

func (o object) String() string { return o.kind + " " + o.name + " of " + o.table }

// drift compares what is there with the schema of a machine. It returns a
// *engine.DriftError for what differs.
func drift(ctx context.Context, tx *sql.Tx, machines []engine.Machine[*sql.Tx]) (*engine.DriftError, error) {
	there, err := objects(ctx, tx)
	if err != nil {
		return nil, err
	}
	var drifts []engine.Drift
	for _, m := range machines {
		wanted, err := objectsOf(ctx, m)
		if err != nil {
			return nil, fmt.Errorf("machine %s: %w", m.Name(), err)
		}
		if differences := compare(m.Name(), wanted, there); len(differences) > 0 {
			deployed := engine.RowRulesOf(m).VersionOf(there[object{"trigger", "fsm_outbox", messageRule + m.Name()}])
			drifts = append(drifts, engine.Drift{Machine: m.Name(), Version: m.Version(), Deployed: deployed, Differences: differences})
		}
	}
	if len(drifts) == 0 {
		return nil, nil
	}
	return &engine.DriftError{Machines: drifts}, nil
}

// objectsOf are those of the schema of a machine, as a file of its own has them.
func objectsOf(ctx context.Context, m engine.Machine[*sql.Tx]) (found map[object]string, err error) {
	schema, err := m.Schema("sqlite")
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1) // each has a database of its own
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return nil, err
	}
	return objects(ctx, db)
}

// objects are the triggers and indices of a database, with the statements that made them.
func objects(ctx context.Context, q querier) (map[object]string, error) {
	found := map[object]string{}
	err := each(ctx, q, func(c *cells) { found[object{c.text(), c.text(), c.text()}] = c.text() },
		"SELECT type, tbl_name, name, sql FROM sqlite_schema WHERE type IN ('trigger', 'index') AND sql IS NOT NULL")
	return found, err
}

// compare says what is there otherwise than wanted. A trigger that the schema does not
// have is the machine's if its name says so.
func compare(machine string, wanted, there map[object]string) (differences []string) {
	for o, text := range wanted {
		found, ok := there[o]
		switch {
		case !ok:
			differences = append(differences, o.String()+" is not there")
		case found != text:
			differences = append(differences, o.String()+" is another")
		}
	}
	for o := range there {
		if _, ok := wanted[o]; !ok && o.kind == "trigger" && strings.HasPrefix(o.name, machine+"_") {
			differences = append(differences, o.String()+" is of another version")
		}
	}
	slices.Sort(differences)
	return differences
}
