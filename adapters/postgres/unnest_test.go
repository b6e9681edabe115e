package postgres

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// TestArraysArrive: of whatever a column holds, the server gets what was meant, or
// refuses what is nothing of the kind.
func TestArraysArrive(t *testing.T) {
	t.Parallel()
	pool := openDatabase(t).newPool(t, func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["timezone"] = "UTC" })
	const id = "0190aaaa-bbbb-7ccc-8ddd-eeeeffff0001"
	for _, c := range []struct {
		typ    string
		values []any
		want   string // as the server writes it, or refuses it
	}{
		{"uuid", []any{id, nil}, "{" + id + ",NULL}"},
		{"uuid", []any{"{" + strings.ToUpper(id) + "}"}, "{" + id + "}"}, // a form of the server's own
		{"uuid", []any{id, "node-1"}, `invalid input syntax for type uuid: "node-1"`},
		{"uuid", []any{int64(1)}, "unable to encode"},
		{"text", []any{`a "b", {c}\`, nil, ""}, `{"a \"b\", {c}\\",NULL,""}`},
		{"bigint", []any{int64(7), nil}, "{7,NULL}"},
		{"boolean", []any{true, nil}, "{t,NULL}"},
		{"timestamptz", []any{time.Date(2026, 11, 22, 12, 0, 0, 1000, time.UTC), nil}, `{"2026-11-22 12:00:00.000001+00",NULL}`},
		{"json", []any{`{"a":"b"}`, nil}, `{"{\"a\":\"b\"}",NULL}`},
		{"jsonb", []any{`{"a":"b"}`, nil}, `{"{\"a\": \"b\"}",NULL}`},
	} {
		var got string
		err := pool.QueryRow(context.Background(), "SELECT $1::"+c.typ+"[]::text", arrayOf(c.typ, c.values)).Scan(&got)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s of %v arrives as %s, want %s", c.typ, c.values, got, c.want)
		}
	}
}
