package facts_test

import (
	"database/sql"
	"reflect"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/fsmgen/fsmgen/proptest/facts"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

func open(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1) // each connection has a memory of its own
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// TestTraces: what handlers leave is read back, each time that they leave it.
func TestTraces(t *testing.T) {
	db := open(t)
	first := fsm.Dispatch{Machine: "deal", Record: "it's", Version: 2, Effect: "a", ID: "m-1", Correlation: "c-1"}
	second := fsm.Dispatch{Machine: "deal", Record: "it's", Version: 1, Effect: "b", ID: "m-2", Correlation: "c-2"}
	for _, statement := range []string{
		facts.CreateTraces, facts.LeaveTrace(first, ""), facts.LeaveTrace(first, ""), facts.LeaveTrace(second, "DONE"),
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	got, err := facts.Traces(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	a := facts.Trace{Effect: facts.Effect{Machine: "deal", Record: "it's", Version: 2, Name: "a"}, Message: "m-1", Correlation: "c-1"}
	b := facts.Trace{Effect: facts.Effect{Machine: "deal", Record: "it's", Version: 1, Name: "b"}, Message: "m-2", Correlation: "c-2", Answer: "DONE"}
	if want := []facts.Trace{b, a, a}; !reflect.DeepEqual(got, want) {
		t.Errorf("the traces are\n%+v\nwant\n%+v", got, want)
	}
}

// TestRow: a row is read column by column, and a value of another type is an error.
func TestRow(t *testing.T) {
	db := open(t)
	read := func(query string, read func(*facts.Row) any) (v any, err error) {
		err = facts.Query(t.Context(), db, query, func(r *facts.Row) { v = read(r) })
		return v, err
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)
	for name, tt := range map[string]struct {
		query string
		read  func(*facts.Row) any
		want  any // nil: an error
	}{
		"text":               {"SELECT 'a'", func(r *facts.Row) any { return r.Text() }, "a"},
		"bytes as text":      {"SELECT x'61'", func(r *facts.Row) any { return r.Text() }, "a"},
		"null as text":       {"SELECT NULL", func(r *facts.Row) any { return r.Text() }, ""},
		"the second column":  {"SELECT 1, 2", func(r *facts.Row) any { return []int64{r.Int(), r.Int()} }, []int64{1, 2}},
		"true":               {"SELECT 1", func(r *facts.Row) any { return r.Bool() }, true},
		"null as a bool":     {"SELECT NULL", func(r *facts.Row) any { return r.Bool() }, false},
		"a time":             {"SELECT '2026-01-02T03:04:05.678901Z'", func(r *facts.Row) any { return r.Time() }, at},
		"null as a time":     {"SELECT NULL", func(r *facts.Row) any { return r.Time() }, time.Time{}},
		"what is there":      {"SELECT ''", func(r *facts.Row) any { return r.Present() }, true},
		"what is not":        {"SELECT NULL", func(r *facts.Row) any { return r.Present() }, false},
		"text as an integer": {"SELECT 'a'", func(r *facts.Row) any { return r.Int() }, nil},
		"null as an integer": {"SELECT NULL", func(r *facts.Row) any { return r.Int() }, nil},
		"text as a bool":     {"SELECT 'a'", func(r *facts.Row) any { return r.Bool() }, nil},
		"text as a time":     {"SELECT 'a'", func(r *facts.Row) any { return r.Time() }, nil},
		"a number as a time": {"SELECT 1", func(r *facts.Row) any { return r.Time() }, nil},
		"a missing column":   {"SELECT 1", func(r *facts.Row) any { r.Int(); return r.Text() }, nil},
		"a missing table":    {"SELECT 1 FROM nowhere", func(r *facts.Row) any { return r.Int() }, nil},
	} {
		got, err := read(tt.query, tt.read)
		if tt.want == nil && err == nil {
			t.Errorf("%s: it is %v, want an error", name, got)
		}
		if tt.want != nil && (err != nil || !reflect.DeepEqual(got, tt.want)) {
			t.Errorf("%s: it is %v, %v, want %v", name, got, err, tt.want)
		}
	}
}
