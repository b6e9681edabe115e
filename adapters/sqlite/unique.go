package sqlite

import (
	"context"
	"regexp"
	"slices"
	"strings"
)

// uniqueIn finds the unique constraints in the text of a CREATE TABLE.
var uniqueIn = regexp.MustCompile(`(?i)CONSTRAINT\s+"?(\w+)"?\s+(?:UNIQUE|PRIMARY\s+KEY)\s*\(([^)]*)\)`)

// constraintOf returns the name of the unique constraint or index over these columns. If it has
// none, it returns the columns, which are all that SQLite's message contains.
func constraintOf(ctx context.Context, q querier, table string, columns []string) string {
	indices, err := texts(ctx, q, `SELECT i.name FROM pragma_index_list(?1) AS i
		WHERE i."unique" AND i.origin = 'c'
			AND (SELECT group_concat(name, ',' ORDER BY seqno) FROM pragma_index_info(i.name)) = ?2`, table, strings.Join(columns, ","))
	if err == nil && len(indices) > 0 {
		return indices[0]
	}
	schema, err := texts(ctx, q, "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?", table)
	if err == nil && len(schema) > 0 {
		for _, m := range uniqueIn.FindAllStringSubmatch(schema[0], -1) {
			if slices.Equal(identifiers(m[2]), columns) {
				return m[1]
			}
		}
	}
	return strings.Join(columns, ", ")
}

// identifiers splits a list of SQL identifiers.
func identifiers(list string) []string {
	parts := strings.Split(list, ",")
	for i, part := range parts {
		parts[i] = strings.Trim(strings.TrimSpace(part), `"`)
	}
	return parts
}
