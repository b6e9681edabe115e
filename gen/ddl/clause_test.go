package ddl_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen/ddl"
	"github.com/fsmgen/fsmgen/gen/diag"
	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/syntax"
)

// clauseMachine is the machine of testdata/clause.yaml with one clause.
func clauseMachine(t *testing.T, clause string) *ir.Machine {
	t.Helper()
	data, err := os.ReadFile("testdata/clause.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(data), "CLAUSE", clause, 1)
	list := &diag.List{}
	machines := ir.Lower([]*syntax.File{syntax.Parse("spec/clause.yaml", []byte(text), list)}, list)
	if list.HasErrors() {
		t.Fatalf("%s: %v", clause, list.Sorted())
	}
	return machines[0]
}

// firstClause is the creation of a record in the first state.
func firstClause(fields row) string {
	return row{
		"clause_id": sampleID, "state": "'first'", "version": "1", "last_event": "'create'", "entered_at": noon, "updated_at": noon,
	}.with(fields).insert("clause_records")
}

// clauseTables are the tables of the machine, the one that refers to the other first.
var clauseTables = []string{"clause_history", "clause_records"}

const lastClause = "UPDATE clause_records SET state = 'last', version = 2, last_event = 'go'"

// clauseCase is a clause with fields of records that satisfy it, and of records that do not.
type clauseCase struct {
	clause  string
	yes, no []row
}

// clauseCases list for each clause records that satisfy it and records that do
// not; the record without any field stands for absent operands.
var clauseCases = []clauseCase{
	{"i == 3", []row{{"i": "3"}}, []row{{}, {"i": "4"}}},
	{"i != 3", []row{{"i": "4"}}, []row{{}, {"i": "3"}}},
	{"i < 3", []row{{"i": "2"}}, []row{{}, {"i": "3"}}},
	{"i <= 3", []row{{"i": "3"}}, []row{{}, {"i": "4"}}},
	{"i > -3", []row{{"i": "-2"}}, []row{{}, {"i": "-3"}}},
	{"i >= 3", []row{{"i": "3"}}, []row{{}, {"i": "2"}}},
	{"i in [1, 3]", []row{{"i": "3"}}, []row{{}, {"i": "2"}}},
	{"i not_in [1, 3]", []row{{"i": "2"}}, []row{{}, {"i": "3"}}},
	{"i < $j", []row{{"i": "1", "j": "2"}}, []row{{}, {"i": "1"}, {"j": "2"}, {"i": "2", "j": "2"}}},
	{"i exists true", []row{{"i": "0"}}, []row{{}}},
	{"i exists false", []row{{}}, []row{{"i": "0"}}},
	{"i not_exists true", []row{{}}, []row{{"i": "0"}}},
	{"i not_exists false", []row{{"i": "0"}}, []row{{}}},
	{"s == a", []row{{"s": "'a'"}}, []row{{}, {"s": "'A'"}}},
	{"s != a", []row{{"s": "'b'"}, {"s": "''"}}, []row{{}, {"s": "'a'"}}},
	{"s in [a, b]", []row{{"s": "'b'"}}, []row{{}, {"s": "'c'"}}},
	{"s == $r", []row{{"s": "'é'", "r": "'é'"}}, []row{{}, {"s": "'e'", "r": "'é'"}}},
	{"g == g-1", []row{{"r": "'1'"}}, []row{{}, {"r": "'2'"}}},
	{"b == true", []row{{"b": "true"}}, []row{{}, {"b": "false"}}},
	{"b == false", []row{{"b": "false"}}, []row{{}, {"b": "true"}}},
	{"b != true", []row{{"b": "false"}}, []row{{}, {"b": "true"}}},
	{"e == light-blue", []row{{"e": "'light-blue'"}}, []row{{}, {"e": "'red'"}}},
	{"e in [red, light-blue]", []row{{"e": "'red'"}}, []row{{}, {"e": "'green'"}}},
	{"e not_in [red, light-blue]", []row{{"e": "'green'"}}, []row{{}, {"e": "'red'"}}},
	{"t == $u", []row{{"t": noon, "u": noon}}, []row{{}, {"t": noon}, {"t": noon, "u": one}}},
	{"t < $u", []row{{"t": noon, "u": "'2026-01-02T12:00:00.000001Z'"}}, []row{{}, {"t": one, "u": noon}}},
	{"t >= $u", []row{{"t": "'9999-12-31T23:59:59.999999Z'", "u": "'0001-01-01T00:00:00.000000Z'"}}, []row{{}, {"t": noon, "u": one}}},
	{"d > 1h", []row{{"d": "3600000000001"}}, []row{{}, {"d": "3600000000000"}}},
	{"d <= $f", []row{{"d": "5", "f": "5"}}, []row{{}, {"d": "5"}, {"d": "6", "f": "5"}}},
	{"x == $y", []row{{"x": sampleID, "y": sampleID}}, []row{{}, {"x": sampleID}, {"x": sampleID, "y": otherID}}},
	{"x == $clause_id", []row{{"x": sampleID}}, []row{{}, {"x": otherID}}},
	{"o exists true", []row{{"o": "'null'"}}, []row{{}}},
	{"l exists true", []row{{"l": "$list"}}, []row{{}}},
	{"state == last", []row{{}}, nil},
	{"state != last", nil, []row{{}}},
	{"state in [first, last]", []row{{}}, nil},
	{"s == $state", []row{{"s": "'last'"}}, []row{{}, {"s": "'first'"}}},
}

// TestClausesHaveEveryOperator: each operator that a state invariant may use has a case.
func TestClausesHaveEveryOperator(t *testing.T) {
	for _, op := range ir.Ops() {
		if op.InChecks() && !slices.ContainsFunc(clauseCases, func(c clauseCase) bool {
			refused := slices.ContainsFunc(c.no, func(r row) bool { return len(r) > 0 || op.Presence() })
			return strings.Fields(c.clause)[1] == string(op) && len(c.yes) > 0 && refused
		}) {
			t.Errorf("no case shows both databases records with which %s holds, and others with which it does not", op)
		}
	}
}

// TestClauses asks both databases what each clause says of records.
func TestClauses(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db *database) {
		list := db.list("a")
		for i, c := range clauseCases {
			if i > 0 {
				db.drop(t, db, clauseTables)
			}
			db.create(t, clauseMachine(t, c.clause))
			for _, r := range c.yes {
				if err := db.try(t, strings.ReplaceAll(firstClause(r), "$list", list), lastClause); err != nil {
					t.Errorf("%s refuses %v: %v", c.clause, r, err)
				}
			}
			for _, r := range c.no {
				if err := db.try(t, firstClause(r), lastClause); err == nil || !strings.Contains(err.Error(), "clause_last_holds") {
					t.Errorf("%s with %v: got %v", c.clause, r, err)
				}
			}
		}
	})
}

// fieldNamed finds a record field.
func fieldNamed(t *testing.T, m *ir.Machine, name string) *ir.Field {
	t.Helper()
	for _, f := range m.Fields {
		if f.Text == name {
			return f
		}
	}
	t.Fatalf("no field %s", name)
	return nil
}

func literal(typ ir.Type, v ir.Value) ir.Operand {
	return ir.Operand{IsLit: true, Type: typ, Literal: v}
}

// TestClausesOfTriggers: what reads the old state is judged by a trigger, and
// in SQLite what looks into a list.
func TestClausesOfTriggers(t *testing.T) {
	text := ir.Type{Base: ir.String}
	from := func(op ir.Op, state string) *ir.Clause {
		return &ir.Clause{
			Left: ir.Operand{Special: ir.FromName, Type: text}, Op: op, Right: literal(text, state), Text: "$from " + string(op) + " " + state,
		}
	}
	contains := func(t *testing.T, m *ir.Machine) *ir.Clause {
		l := fieldNamed(t, m, "l")
		return &ir.Clause{Left: ir.Operand{Field: l, Type: l.Type}, Op: ir.Contains, Right: literal(text, "a"), Text: "l contains a"}
	}
	eachDatabase(t, func(t *testing.T, db *database) {
		cases := []struct {
			clause func(*testing.T, *ir.Machine) *ir.Clause
			fields row
			ok     bool
		}{
			{func(*testing.T, *ir.Machine) *ir.Clause { return from(ir.Eq, "first") }, nil, true},
			{func(*testing.T, *ir.Machine) *ir.Clause { return from(ir.Ne, "first") }, nil, false},
			{contains, row{"l": db.list("b", "a")}, true},
			{contains, row{"l": db.list("b", "c")}, false},
			{contains, nil, false},
		}
		for i, c := range cases {
			if i > 0 {
				db.drop(t, db, clauseTables)
			}
			m := clauseMachine(t, "i exists false")
			clause := c.clause(t, m)
			m.States[1].Holds = []*ir.Clause{clause}
			db.create(t, m)
			err := db.try(t, firstClause(c.fields), lastClause)
			switch {
			case c.ok && err != nil:
				t.Errorf("%s with %v: %v", clause.Text, c.fields, err)
			case !c.ok && err == nil:
				t.Errorf("%s with %v: accepted", clause.Text, c.fields)
			}
		}
	})
}

// TestUndecidableClauses are left to the machine, and the script says so.
func TestUndecidableClauses(t *testing.T) {
	m := clauseMachine(t, "i == 1")
	s := fieldNamed(t, m, "s")
	m.States[1].Holds = append(m.States[1].Holds,
		&ir.Clause{Left: ir.Operand{Field: s, Type: s.Type}, Op: ir.Matches, Right: literal(s.Type, "^a"), Text: "s matches ^a"})
	for script, decided := range map[string]string{
		ddl.Postgres(m): "IF NOT (COALESCE(r.i = 1, false)) THEN", ddl.SQLite(m): "CHECK (state <> 'last' OR COALESCE(i = 1, false))",
	} {
		if !strings.Contains(script, "-- left to the machine: s matches ^a\n") {
			t.Error("the script is silent about the clause")
		}
		if !strings.Contains(script, decided) {
			t.Error("the clause that SQL decides is gone")
		}
	}
}

// TestUndecidableUnless: the database never refuses what the machine may allow.
func TestUndecidableUnless(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db *database) {
		m := sample(t)
		room := fieldNamed(t, m, "room")
		m.Invariants[0].Never.Unless = []*ir.Clause{
			{Left: ir.Operand{Field: room, Type: room.Type}, Op: ir.Matches, Right: literal(room.Type, "^r"), Text: "room matches ^r"},
		}
		db.create(t, m)
		if err := db.try(t, created, started, step("close", "closed"), step("reopen", "open")); err != nil {
			t.Error(err)
		}
	})
}
