package ddl

import (
	"strings"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// scope says how SQL at some place reads the names of a clause.
type scope struct {
	dialect dialect
	machine *ir.Machine
	row     string // prefix of the record's columns: "" in a CHECK
	from    string // expression of the old state; "" where there is none to read
	// derived columns have no value yet when a trigger runs.
	derives bool
	// subqueries are allowed in triggers, not in a CHECK.
	subqueries bool
	// reads is how a name is read where that depends on more than its kind.
	reads func(ir.Operand) (string, bool)
}

// recordScope is that of a CHECK, or of the function that PostgreSQL asks
// instead.
func recordScope(d dialect, m *ir.Machine) scope {
	return scope{dialect: d, machine: m, row: d.traits().checkedRow}
}

func triggerScope(d dialect, m *ir.Machine, from string) scope {
	return scope{dialect: d, machine: m, row: "NEW.", from: from, derives: true, subqueries: true}
}

// clause is c as a condition that is never null. It reports false where SQL
// can't decide c here.
func (s scope) clause(c *ir.Clause) (string, bool) {
	left, ok := s.operand(c.Left)
	if !ok {
		return "", false
	}
	switch c.Op {
	case ir.Matches: // Go and SQL disagree on regular expressions.
		return "", false
	case ir.Exists, ir.NotExists:
		if c.AssertsPresence() {
			return left + " IS NOT NULL", true
		}
		return left + " IS NULL", true
	case ir.In, ir.NotIn:
		return s.membership(c, left)
	case ir.Contains:
		return s.contains(c, left)
	case ir.Eq, ir.Ne, ir.Lt, ir.Le, ir.Gt, ir.Ge:
		right, ok := s.operand(c.Right)
		if !ok {
			return "", false
		}
		return never(left + " " + comparison(c.Op) + " " + right), true
	}
	panic(ir.NoForm("ddl.clause", c.Op))
}

// never makes an absent operand false instead of unknown, which a CHECK or a rule
// would let pass.
func never(cond string) string { return "COALESCE(" + cond + ", false)" }

func comparison(op ir.Op) string {
	switch op {
	case ir.Eq:
		return "="
	case ir.Ne:
		return "<>"
	case ir.Lt, ir.Le, ir.Gt, ir.Ge:
		return string(op)
	case ir.Exists, ir.NotExists, ir.In, ir.NotIn, ir.Contains, ir.Matches: // compare no two values
	}
	panic(ir.NoForm("ddl.comparison", op))
}

func (s scope) membership(c *ir.Clause, left string) (string, bool) {
	items, ok := c.Right.Literal.([]any)
	if !ok {
		return "", false
	}
	not := c.Op == ir.NotIn
	if len(items) == 0 {
		if not {
			return left + " IS NOT NULL", true
		}
		return "false", true
	}
	word := " IN ("
	if not {
		word = " NOT IN ("
	}
	literals := s.dialect.literals(c.Left.Type, items)
	return never(left + word + strings.Join(literals, ", ") + ")"), true
}

func (s scope) contains(c *ir.Clause, left string) (string, bool) {
	if isNested(c.Left.Type) {
		return "", false
	}
	right, ok := s.operand(c.Right)
	if !ok {
		return "", false
	}
	switch s.dialect {
	case postgres:
		return never(right + " = ANY (" + left + ")"), true
	case sqlite:
		return never("EXISTS (SELECT 1 FROM json_each(" + left + ") WHERE value = " + right + ")"), s.subqueries
	}
	panic(ir.NoForm("ddl.contains", s.dialect))
}

// operand is o as an expression; false where the database does not know it.
func (s scope) operand(o ir.Operand) (string, bool) {
	if s.reads != nil {
		return s.reads(o)
	}
	switch {
	case o.IsLit:
		return s.dialect.literal(o.Type, o.Literal), true
	case o.Special == ir.StateName:
		return s.row + stateColumn(s.machine), true
	case o.Special == ir.FromName:
		return s.from, s.from != ""
	case o.Field != nil && o.Event == nil:
		return s.field(o.Field), true
	}
	return "", false
}

// field is a record field. Where a derived one is not computed yet, its
// expression stands in for it.
func (s scope) field(f *ir.Field) string {
	if f.Derive != nil && s.derives {
		return "(" + derivation(s.dialect, s.row, f.Derive) + ")"
	}
	return s.row + ident(f.Text)
}

// readsFrom reports whether c is about the state before the step, which only a
// trigger can see.
func readsFrom(c *ir.Clause) bool {
	return c.Left.Special == ir.FromName || c.Right.Special == ir.FromName
}

// all joins the clauses that SQL decides with AND; left out are the others.
func (s scope) all(clauses []*ir.Clause) (conds []string, leftOut []*ir.Clause) {
	for _, c := range clauses {
		cond, ok := s.clause(c)
		if !ok {
			leftOut = append(leftOut, c)
			continue
		}
		conds = append(conds, cond)
	}
	return conds, leftOut
}
