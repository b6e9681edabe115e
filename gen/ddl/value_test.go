package ddl_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/gen/ddl"
	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// TestValuesReachTheDatabase binds a value of every type as an argument and
// reads it back as text.
func TestValuesReachTheDatabase(t *testing.T) {
	at := time.Date(2026, 1, 2, 21, 0, 0, 123456000, time.FixedZone("", 9*3600))
	cases := []struct {
		field          string
		value          ir.Value
		asInGo, native string
	}{
		{"i", int64(-7), "-7", "-7"},
		{"s", "it's \x01 é", "it's \x01 é", "it's \x01 é"},
		{"b", true, "1", "true"},
		{"b", false, "0", "false"},
		{"e", "light-blue", "light-blue", "light-blue"},
		{"t", at, "2026-01-02T12:00:00.123456Z", "2026-01-02 21:00:00.123456+09"},
		{"d", 90 * time.Second, "90000000000", "90000000000"},
		{"x", strings.Trim(sampleID, "'"), strings.Trim(sampleID, "'"), strings.Trim(sampleID, "'")},
		{"o", `{"a":[1,null]}`, `{"a":[1,null]}`, `{"a": [1, null]}`},
		{"l", []any{"a", `<"é">`}, `["a","<\"é\">"]`, `{a,"<\"é\">"}`},
		{"l", []any{}, "[]", "{}"},
		{"n", []any{int64(1), int64(2)}, "[1,2]", "{1,2}"},
		{"i", nil, "absent", "absent"},
	}
	eachDatabase(t, func(t *testing.T, db *database) {
		m := clauseMachine(t, "i exists false")
		db.create(t, m)
		for n, c := range cases {
			f := fieldNamed(t, m, c.field)
			arg, err := db.value(f.Type, c.value)
			if err != nil {
				t.Fatal(err)
			}
			id := fmt.Sprintf("'00000000-0000-4000-8000-%012d'", n)
			stmt := firstClause(row{"clause_id": id, c.field: db.mark})
			if _, err := db.conn.ExecContext(context.Background(), stmt, arg); err != nil {
				t.Errorf("%s = %v: %v", c.field, c.value, err)
				continue
			}
			got := db.text(t, "SELECT COALESCE(CAST("+c.field+" AS text), 'absent') FROM clause_records WHERE clause_id = "+id)
			if want := db.shown(c.native, c.asInGo); got != want {
				t.Errorf("%s = %v: stored %s, want %s", c.field, c.value, got, want)
			}
		}
	})
}

// TestColumnsHaveTheirType: a column of each type refuses a text that is no value of it. A string
// column takes every text.
func TestColumnsHaveTheirType(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db *database) {
		m := clauseMachine(t, "i exists false")
		db.create(t, m)
		tried := []ir.Base{ir.String}
		for field, texts := range map[string][]string{
			"i": {"three", "1.5"}, "b": {"maybe"}, "e": {"RED", ""}, "d": {"1h"}, "o": {"{a"}, "l": {"no list", "1"},
			"t": {"soon", "infinity", "2026-02-30T12:00:00.000000Z"},
			"x": {"1", "00000000-0000-4000-8000-00000000000g"},
		} {
			tried = append(tried, fieldNamed(t, m, field).Type.Base)
			for _, text := range texts {
				if err := db.try(t, firstClause(row{field: "'" + text + "'"})); err == nil {
					t.Errorf("a column of type %s holds %q", fieldNamed(t, m, field).Type, text)
				}
			}
		}
		for _, base := range ir.BaseTypes() {
			if !slices.Contains(tried, base) {
				t.Errorf("this test has no text that is no %s", base)
			}
		}
	})
}

// TestElementsHaveTheirType: a list holds what a column of the type of its elements would.
func TestElementsHaveTheirType(t *testing.T) {
	id, at := strings.Trim(sampleID, "'"), strings.Trim(noon, "'")
	eachDatabase(t, func(t *testing.T, db *database) {
		db.create(t, clauseMachine(t, "i exists false"))
		for _, c := range []struct{ field, good, bad string }{
			{"ids", id, "00000000-0000-4000-8000-00000000000g"},
			{"ids", id, id + "0"},
			{"at", at, "2026-02-30T12:00:00.000000Z"},
			{"at", at, "infinity"},
			{"at", "9999-12-31T23:59:59.999999Z", "0000-01-01T00:00:00.000000Z"},
			{"at", "0001-01-01T00:00:00.000000Z", "soon"},
		} {
			if err := db.try(t, firstClause(row{c.field: db.list(c.good, c.good)})); err != nil {
				t.Errorf("%s of %s: %v", c.field, c.good, err)
			}
			if err := db.try(t, firstClause(row{c.field: db.list(c.good, c.bad)})); err == nil {
				t.Errorf("%s of %s is accepted", c.field, c.bad)
			}
		}
	})
}

// TestListsComeBack: what generated code makes of a list of each type is stored, and read back.
func TestListsComeBack(t *testing.T) {
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	eachDatabase(t, func(t *testing.T, db *database) {
		m := clauseMachine(t, "i exists false")
		db.create(t, m)
		var tried []ir.Base
		for n, c := range []struct {
			field string
			list  any
		}{
			{"l", []string{"it's", ""}},
			{"n", []int64{-1, 2}},
			{"ids", []fsm.UUID{{1}, {}}},
			{"at", []time.Time{at, at.Add(time.Microsecond)}},
			{"flags", []bool{true, false}},
			{"waits", []time.Duration{time.Hour, -1}},
			{"colours", []string{"red", "light-blue"}},
		} {
			tried = append(tried, fieldNamed(t, m, c.field).Type.Elem.Base)
			id := fmt.Sprintf("'00000000-0000-4000-8000-%012d'", n)
			stmt := firstClause(row{"clause_id": id, c.field: db.mark})
			if _, err := db.conn.ExecContext(context.Background(), stmt, db.listArgument(t, c.list)); err != nil {
				t.Errorf("%T: %v", c.list, err)
				continue
			}
			read := reflect.New(reflect.TypeOf(c.list))
			query := "SELECT CAST(" + c.field + " AS text) FROM clause_records WHERE clause_id = " + id
			if err := db.conn.QueryRowContext(context.Background(), query).Scan(fsm.Into(read.Interface())); err != nil || !reflect.DeepEqual(read.Elem().Interface(), c.list) {
				t.Errorf("%T: %v is read back as %v, %v", c.list, c.list, read.Elem(), err)
			}
		}
		for _, base := range ir.BaseTypes() {
			if base.InLists() && !slices.Contains(tried, base) {
				t.Errorf("this test has no list of %s", base)
			}
		}
	})
}

// listArgument is a list as a store sends it.
func (db *database) listArgument(t *testing.T, list any) any {
	t.Helper()
	if db.arrays {
		return fsm.Plain(list)
	}
	text, err := json.Marshal(fsm.Plain(list))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestValuesOfNoType are errors, not guesses.
func TestValuesOfNoType(t *testing.T) {
	ints := ir.Type{Base: ir.ListOf, Elem: &ir.Type{Base: ir.Int}}
	for _, v := range []ir.Value{3.5, []string{"a"}, struct{}{}} {
		if got, err := ddl.SQLiteValue(ints, v); err == nil {
			t.Errorf("SQLite: %v became %v", v, got)
		}
		if got, err := ddl.PostgresValue(ints, v); err == nil {
			t.Errorf("PostgreSQL: %v became %v", v, got)
		}
	}
	if got, err := ddl.PostgresValue(ints, []any{"a"}); err == nil {
		t.Errorf("a string in a list of int became %v", got)
	}
}

// TestDefaultsOfEveryType are written into both schemas as the machine has
// them.
func TestDefaultsOfEveryType(t *testing.T) {
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	defaults := map[string]ir.Value{
		"i": int64(5), "s": "it's", "b": true, "e": "light-blue", "t": at, "d": time.Hour,
		"x": strings.Trim(sampleID, "'"), "o": `{"a":1}`, "l": []any{"it's"}, "n": []any{},
	}
	want := map[string][2]string{
		"i": {"5", "5"}, "s": {"it's", "it's"}, "b": {"1", "true"}, "e": {"light-blue", "light-blue"},
		"t": {"2026-01-02T12:00:00.000000Z", "2026-01-02 21:00:00+09"}, "d": {"3600000000000", "3600000000000"},
		"x": {strings.Trim(sampleID, "'"), strings.Trim(sampleID, "'")}, "o": {`{"a":1}`, `{"a": 1}`},
		"l": {`["it's"]`, "{it's}"}, "n": {"[]", "{}"},
	}
	eachDatabase(t, func(t *testing.T, db *database) {
		m := clauseMachine(t, "i exists false")
		for name, v := range defaults {
			f := fieldNamed(t, m, name)
			f.HasDefault, f.Default = true, v
		}
		db.create(t, m)
		db.must(t, firstClause(nil))
		for name, texts := range want {
			if got := db.text(t, "SELECT CAST("+name+" AS text) FROM clause_records"); got != db.shown(texts[1], texts[0]) {
				t.Errorf("%s: default is %s, want %s", name, got, db.shown(texts[1], texts[0]))
			}
		}
	})
}

// TestColumns: the list is what the scripts create, in order.
func TestColumns(t *testing.T) {
	m := sample(t)
	var names, generated []string
	for _, c := range ddl.Columns(m) {
		names = append(names, c.Name)
		if c.Generated {
			generated = append(generated, c.Name)
		}
	}
	want := "sample_id phase version last_event entered_at student_id title points goal grade passed starts_at ends_at" +
		" length pause token answers topics marks room label created_at updated_at"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("columns\n%s, want\n%s", got, want)
	}
	if strings.Join(generated, " ") != "label" {
		t.Errorf("generated: %v", generated)
	}
	eachDatabase(t, func(t *testing.T, db *database) {
		db.create(t, m)
		for table, cols := range map[string][]ddl.Column{"samples": ddl.Columns(m), "sample_steps": ddl.HistoryColumns(m), "diplomas": ddl.TableColumns(m.Tables[1])} {
			rows, err := db.conn.QueryContext(t.Context(), "SELECT * FROM "+table)
			if err != nil {
				t.Fatal(err)
			}
			got, err := rows.Columns()
			if err != nil {
				t.Fatal(err)
			}
			if err := rows.Close(); err != nil {
				t.Fatal(err)
			}
			var want []string
			for _, c := range cols {
				want = append(want, c.Name)
			}
			if strings.Join(got, " ") != strings.Join(want, " ") {
				t.Errorf("%s has %v, want %v", table, got, want)
			}
		}
	})
}
