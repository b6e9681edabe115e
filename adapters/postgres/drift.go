package postgres

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/runtime/engine"
)

// The kinds of objects that are compared.
const (
	aFunction   = "function"
	aTrigger    = "trigger"
	aConstraint = "constraint"
	anIndex     = "index"
)

// How gen/ddl writes them. A statement begins at the beginning of a line.
var (
	functionText   = regexp.MustCompile(`(?ms)^CREATE FUNCTION (\w+|"[^"]+")\(.*?AS \$\$(.*?)\$\$;$`)
	blockText      = regexp.MustCompile(`(?ms)^DO \$\$.*?\$\$;$`)
	triggerText    = regexp.MustCompile(`(?ms)^CREATE (?:CONSTRAINT )?TRIGGER (\w+|"[^"]+") .*? ON (\w+|"[^"]+")\s.*?;$`)
	indexText      = regexp.MustCompile(`(?m)^CREATE (?:UNIQUE )?INDEX (\w+|"[^"]+") `)
	constraintText = regexp.MustCompile(`\bCONSTRAINT (\w+|"[^"]+")`)
	commentText    = regexp.MustCompile(`(?m)^\s*--.*$`)
)

// objectsOf reads a generated schema: its functions with their bodies, its triggers with
// their definitions as the server words them, its constraints and indices.
func objectsOf(schema string) map[engine.SchemaObject]string {
	found := map[engine.SchemaObject]string{}
	take := func(text *regexp.Regexp, add func(match []string)) {
		for _, match := range text.FindAllStringSubmatch(schema, -1) {
			add(match)
		}
		schema = text.ReplaceAllString(schema, "")
	}
	take(functionText, func(m []string) { found[engine.SchemaObject{Kind: aFunction, Name: unquoted(m[1])}] = m[2] })
	take(blockText, func([]string) {})
	take(commentText, func([]string) {})
	take(triggerText, func(m []string) {
		found[engine.SchemaObject{Kind: aTrigger, Table: unquoted(m[2]), Name: unquoted(m[1])}] = asTheServerWordsIt(m[0])
	})
	take(indexText, func(m []string) { found[engine.SchemaObject{Kind: anIndex, Name: unquoted(m[1])}] = "" })
	take(constraintText, func(m []string) { found[engine.SchemaObject{Kind: aConstraint, Name: unquoted(m[1])}] = "" })
	return found
}

// asTheServerWordsIt is a definition as pg_get_triggerdef returns it.
func asTheServerWordsIt(trigger string) string {
	line := strings.TrimSuffix(strings.Join(strings.Fields(trigger), " "), ";")
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
// *engine.DriftError for what differs.
func (s *Store) drift(ctx context.Context, tx pgx.Tx, machines []engine.Machine[pgx.Tx]) (*engine.DriftError, error) {
	var drifts []engine.Drift
	for _, m := range machines {
		schema, err := m.Schema("postgres")
		if err != nil {
			return nil, fmt.Errorf("machine %s: %w", m.Name(), err)
		}
		wanted := objectsOf(schema)
		rule := engine.SchemaObject{Kind: aFunction, Name: messageRule + m.Name()}
		there, err := s.deployed(ctx, tx, wanted, rule)
		if err != nil {
			return nil, fmt.Errorf("machine %s: %w", m.Name(), err)
		}
		deployed := engine.RowRulesOf(m).VersionOf(there[rule])
		delete(there, rule)
		if differences := engine.Differences(m.Name(), wanted, there); len(differences) > 0 {
			drifts = append(drifts, engine.Drift{Machine: m.Name(), Version: m.Version(), Deployed: deployed, Differences: differences})
		}
	}
	if len(drifts) == 0 {
		return nil, nil
	}
	return &engine.DriftError{Machines: drifts}, nil
}

// deployed reads what is there of some objects, and the triggers of their tables.
func (s *Store) deployed(ctx context.Context, tx pgx.Tx, of map[engine.SchemaObject]string, more ...engine.SchemaObject) (map[engine.SchemaObject]string, error) {
	names := map[string][]string{}
	for _, o := range slices.Concat(slices.Collect(maps.Keys(of)), more) {
		names[o.Kind] = append(names[o.Kind], cmp.Or(o.Table, o.Name))
	}
	rows, err := tx.Query(ctx, deployedObjects, quoted(s.schema), names[aFunction], names[aTrigger], names[aConstraint], names[anIndex])
	if err != nil {
		return nil, err
	}
	there := map[engine.SchemaObject]string{}
	var o engine.SchemaObject
	var text string
	_, err = pgx.ForEachRow(rows, []any{&o.Kind, &o.Table, &o.Name, &text}, func() error {
		there[o] = text
		return nil
	})
	return there, err
}
