package postgres

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// objectsOf reads a generated schema: its functions with their bodies, its triggers with
// their definitions, its constraints and indices.
func objectsOf(schema string) map[store.SchemaObject]string {
	found := map[store.SchemaObject]string{}
	add := func(kind, table, name, definition string) {
		found[store.SchemaObject{Kind: kind, Table: unquoted(table), Name: unquoted(name)}] = definition
	}
	for _, statement := range statementsOf(schema) {
		words := strings.Fields(statement)
		switch {
		case strings.HasPrefix(statement, "CREATE FUNCTION "):
			name, _, _ := strings.Cut(words[2], "(")
			_, body, _ := strings.Cut(statement, quote)
			body, _, _ = strings.Cut(body, quote)
			add(store.FunctionObject, "", name, body)
		case strings.HasPrefix(statement, "CREATE TRIGGER "), strings.HasPrefix(statement, "CREATE CONSTRAINT TRIGGER "):
			name, on := slices.Index(words, "TRIGGER")+1, slices.Index(words, "ON")+1
			add(store.TriggerObject, words[on], words[name], asTheServerWordsIt(words))
		case strings.HasPrefix(statement, "CREATE INDEX "), strings.HasPrefix(statement, "CREATE UNIQUE INDEX "):
			add(store.IndexObject, "", words[slices.Index(words, "INDEX")+1], "")
		default:
			for i, word := range words[:len(words)-1] {
				if word == "CONSTRAINT" {
					add(store.ConstraintObject, "", words[i+1], "")
				}
			}
		}
	}
	return found
}

// quote begins and ends the body of a function.
const quote = "$$"

// statementsOf splits a schema as gen/ddl writes it: a statement begins a line and ends one,
// and a comment has lines of its own. Comments are left out but in bodies.
func statementsOf(schema string) (list []string) {
	var statement strings.Builder
	body := false
	for line := range strings.Lines(schema) {
		if !body && (strings.HasPrefix(strings.TrimSpace(line), "--") || statement.Len() == 0 && strings.TrimSpace(line) == "") {
			continue
		}
		statement.WriteString(line)
		if strings.Count(line, quote)%2 == 1 {
			body = !body
		}
		if !body && strings.HasSuffix(line, ";\n") {
			list = append(list, statement.String())
			statement.Reset()
		}
	}
	return list
}

// asTheServerWordsIt is the definition of a trigger as pg_get_triggerdef returns it.
func asTheServerWordsIt(words []string) string {
	line := strings.TrimSuffix(strings.Join(words, " "), ";")
	return strings.Replace(line, "UPDATE OR DELETE", "DELETE OR UPDATE", 1)
}

// unquoted is a name without quotes.
func unquoted(name string) string { return strings.Trim(name, `"`) }

// The objects of a schema with these names, and the triggers of these tables. One that is
// disabled, or fires on replicas alone, has no definition.
const deployedObjects = `SELECT 'function', '', proname::text, prosrc FROM pg_proc WHERE pronamespace = $1::regnamespace AND proname = ANY($2)
	UNION ALL
	SELECT 'trigger', c.relname::text, t.tgname::text, CASE WHEN t.tgenabled IN ('O', 'A') THEN pg_get_triggerdef(t.oid, true) ELSE '' END
		FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid
		WHERE NOT t.tgisinternal AND t.tgparentid = 0 AND c.relnamespace = $1::regnamespace AND c.relname = ANY($3)
	UNION ALL
	SELECT 'constraint', '', conname::text, '' FROM pg_constraint WHERE connamespace = $1::regnamespace AND conname = ANY($4)
	UNION ALL
	SELECT 'index', '', relname::text, '' FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind IN ('i', 'I') AND relname = ANY($5)`

// drift compares what is there with the schema of a machine. It returns a
// *store.DriftError for what differs.
func (s *Store) drift(ctx context.Context, tx pgx.Tx, machines []store.Machine) (*store.DriftError, error) {
	var drifts []store.Drift
	for _, m := range machines {
		schema, err := m.Schema("postgres")
		if err != nil {
			return nil, fmt.Errorf("machine %s: %w", m.Name(), err)
		}
		wanted := objectsOf(schema)
		rule := store.SchemaObject{Kind: store.FunctionObject, Name: messageRule + m.Name()}
		there, err := s.deployed(ctx, tx, wanted, rule)
		if err != nil {
			return nil, fmt.Errorf("machine %s: %w", m.Name(), err)
		}
		deployed := store.RowRulesOf(m).VersionOf(there[rule])
		delete(there, rule)
		if differences := store.Differences(m.Name(), wanted, there); len(differences) > 0 {
			drifts = append(drifts, store.Drift{Machine: m.Name(), Version: m.Version(), Deployed: deployed, Differences: differences})
		}
	}
	if len(drifts) == 0 {
		return nil, nil
	}
	return &store.DriftError{Machines: drifts}, nil
}

// deployed reads what is there of some objects, and the triggers of their tables.
func (s *Store) deployed(ctx context.Context, tx pgx.Tx, of map[store.SchemaObject]string, more ...store.SchemaObject) (map[store.SchemaObject]string, error) {
	names := map[string][]string{}
	for _, o := range slices.Concat(slices.Collect(maps.Keys(of)), more) {
		names[o.Kind] = append(names[o.Kind], cmp.Or(o.Table, o.Name))
	}
	rows, err := tx.Query(ctx, deployedObjects, quoted(s.schema),
		names[store.FunctionObject], names[store.TriggerObject],
		names[store.ConstraintObject], names[store.IndexObject])
	if err != nil {
		return nil, err
	}
	there := map[store.SchemaObject]string{}
	var o store.SchemaObject
	var text string
	_, err = pgx.ForEachRow(rows, []any{&o.Kind, &o.Table, &o.Name, &text}, func() error {
		there[o] = text
		return nil
	})
	return there, err
}
