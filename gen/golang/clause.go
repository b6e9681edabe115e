package golang

import (
	"slices"
	"time"

	"github.com/dave/jennifer/jen"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// test is a condition in Go. A test whose outcome is known has no code.
type test struct {
	known, outcome bool
	code           func() *jen.Statement
	not            func() *jen.Statement // its negation
	loose          bool                  // code is a chain of ||: it needs parentheses inside &&
	looseNot       bool                  // the same of not
}

func known(outcome bool) test { return test{known: true, outcome: outcome} }

// plain is a test whose negation is spelled with !.
func plain(code func() *jen.Statement) test {
	return test{code: code, not: func() *jen.Statement { return jen.Op("!").Add(code()) }}
}

// equal compares two Go expressions.
func equal(l, r func() *jen.Statement) test {
	with := func(op string) func() *jen.Statement {
		return func() *jen.Statement { return l().Op(op).Add(r()) }
	}
	return test{code: with("=="), not: with("!=")}
}

// binary is a comparison; not is the opposite operator.
func binary(l, r value, op, not string) test {
	with := func(op string) func() *jen.Statement {
		return func() *jen.Statement { return comparand(l).Op(op).Add(comparand(r)) }
	}
	return test{code: with(op), not: with(not)}
}

// comparand is the Go of v in a condition, where a bare composite literal would open the
// block of the if.
func comparand(v value) *jen.Statement {
	if v.isLit && v.typ.Base == ir.UUID {
		return jen.Parens(v.code())
	}
	return v.code()
}

// all is the conjunction of tests.
func all(tests ...test) test {
	var open []test
	for _, t := range tests {
		switch {
		case t.known && !t.outcome:
			return known(false)
		case !t.known:
			open = append(open, t)
		}
	}
	if len(open) == 0 {
		return known(true)
	}
	if len(open) == 1 {
		return open[0]
	}
	return test{
		code:     func() *jen.Statement { return join(conjuncts(open), "&&") },
		not:      func() *jen.Statement { return join(disjuncts(negated(open)), "||") },
		looseNot: true,
	}
}

func negated(tests []test) []test {
	out := make([]test, len(tests))
	for i, t := range tests {
		if t.known {
			out[i] = known(!t.outcome)
			continue
		}
		out[i] = test{code: t.not, not: t.code, loose: t.looseNot, looseNot: t.loose}
	}
	return out
}

// conjuncts are tests as parts of a chain of &&.
func conjuncts(tests []test) []func() *jen.Statement {
	out := make([]func() *jen.Statement, len(tests))
	for i, t := range tests {
		out[i] = t.code
		if t.loose {
			out[i] = func() *jen.Statement { return jen.Parens(t.code()) }
		}
	}
	return out
}

// disjuncts are tests as parts of a chain of ||.
func disjuncts(tests []test) []func() *jen.Statement {
	out := make([]func() *jen.Statement, len(tests))
	for i, t := range tests {
		out[i] = t.code
	}
	return out
}

// either is the disjunction of tests.
func either(tests []test) test {
	var open []test
	for _, t := range tests {
		switch {
		case t.known && t.outcome:
			return known(true)
		case !t.known:
			open = append(open, t)
		}
	}
	if len(open) == 0 {
		return known(false)
	}
	if len(open) == 1 {
		return open[0]
	}
	return test{
		code:  func() *jen.Statement { return join(disjuncts(open), "||") },
		not:   func() *jen.Statement { return join(conjuncts(negated(open)), "&&") },
		loose: true,
	}
}

// clause is c in Go: presence of what it reads, then the comparison. facts are
// what is known to hold where the code stands; nil: nothing.
func (s *scope) clause(c *ir.Clause, known facts) test {
	l := s.read(&c.Left)
	if c.Op.Presence() {
		return existence(l, c.AssertsPresence(), known)
	}
	r := s.read(&c.Right)
	if l.absent || r.absent {
		return test{known: true}
	}
	if known.implies(c.Op, l, r) {
		return test{known: true, outcome: true}
	}
	if l.isLit && (r.isLit || c.Op == ir.Matches) && folds(l, r) {
		return test{known: true, outcome: foldClause(c.Op, l.literal, r.literal)}
	}
	return all(known.presence(l), known.presence(r), s.compare(c, l, r))
}

// existence tests presence, or absence.
func existence(v value, want bool, k facts) test {
	switch {
	case v.absent:
		return known(!want)
	case v.present == nil || k.present[v.key]:
		return known(want)
	}
	t := plain(v.present)
	if !want {
		return opposite(t)
	}
	return t
}

// opposite is the negation of t.
func opposite(t test) test { return negated([]test{t})[0] }

// compare is the comparison of two present operands.
func (s *scope) compare(c *ir.Clause, l, r value) test {
	switch c.Op {
	case ir.Eq, ir.Ne:
		return equality(l, r, c.Op == ir.Eq)
	case ir.Lt, ir.Le, ir.Gt, ir.Ge:
		return order(c.Op, l, r)
	case ir.In, ir.NotIn:
		return s.membership(l, r, c.Op == ir.In)
	case ir.Contains:
		return plain(func() *jen.Statement {
			if r.typ.Base == ir.Time {
				return jen.Qual("slices", "ContainsFunc").Call(l.code(), r.code().Dot("Equal"))
			}
			return jen.Qual("slices", "Contains").Call(l.code(), r.code())
		})
	case ir.Matches:
		return plain(func() *jen.Statement {
			return jen.Id(s.g.patterns.name[c]).Dot("MatchString").Call(l.code())
		})
	case ir.Exists, ir.NotExists: // compare no two operands
	}
	panic(ir.NoForm("golang.compare", c.Op))
}

func equality(l, r value, want bool) test {
	var t test
	switch l.typ.Base {
	case ir.Bool:
		t = binary(l, r, "==", "!=")
		if r.isLit {
			t = plain(l.code)
			want = want == r.literal.(bool)
		}
	case ir.Time:
		t = plain(func() *jen.Statement { return l.code().Dot("Equal").Call(r.code()) })
	case ir.ListOf:
		t = plain(func() *jen.Statement { return jen.Qual("slices", "Equal").Call(l.code(), r.code()) })
	case ir.String, ir.Int, ir.Duration, ir.UUID, ir.EnumOf, ir.JSON:
		t = binary(l, r, "==", "!=")
	default:
		panic(ir.NoForm("golang.equality", l.typ.Base))
	}
	if !want {
		return opposite(t)
	}
	return t
}

// equatable reports whether Go's == compares two values of a type.
func equatable(b ir.Base) bool {
	switch b {
	case ir.String, ir.Int, ir.Bool, ir.Duration, ir.UUID, ir.EnumOf, ir.JSON:
		return true
	case ir.Time, ir.ListOf:
		return false
	}
	panic(ir.NoForm("golang.equatable", b))
}

// order compares ints, durations and times.
func order(op ir.Op, l, r value) test {
	switch l.typ.Base {
	case ir.Int, ir.Duration:
		return binary(l, r, string(op), inverse(op))
	case ir.Time:
		return orderOfTimes(op, l, r)
	case ir.String, ir.Bool, ir.UUID, ir.JSON, ir.ListOf, ir.EnumOf: // have no order
	}
	panic(ir.NoForm("golang.order", l.typ.Base))
}

func orderOfTimes(op ir.Op, l, r value) test {
	is := func(method string) test {
		return plain(func() *jen.Statement { return l.code().Dot(method).Call(r.code()) })
	}
	switch op {
	case ir.Lt:
		return is("Before")
	case ir.Ge:
		return opposite(is("Before"))
	case ir.Gt:
		return is("After")
	case ir.Le:
		return opposite(is("After"))
	case ir.Eq, ir.Ne, ir.Exists, ir.NotExists, ir.In, ir.NotIn, ir.Contains, ir.Matches: // are no order
	}
	panic(ir.NoForm("golang.orderOfTimes", op))
}

// inverse is the Go operator that holds where op does not.
func inverse(op ir.Op) string {
	switch op {
	case ir.Lt:
		return ">="
	case ir.Le:
		return ">"
	case ir.Gt:
		return "<="
	case ir.Ge:
		return "<"
	case ir.Eq, ir.Ne, ir.Exists, ir.NotExists, ir.In, ir.NotIn, ir.Contains, ir.Matches: // order nothing
	}
	panic(ir.NoForm("golang.inverse", op))
}

// membership spells a list of literals out.
func (s *scope) membership(l, r value, in bool) test {
	var tests []test
	for _, v := range r.literal.([]any) {
		tests = append(tests, equality(l, s.g.literalValue(v, l.typ), in))
	}
	switch {
	case len(tests) == 0:
		return known(!in)
	case in:
		return either(tests)
	}
	return all(tests...)
}

// folds reports whether two literals can be compared here.
func folds(l, r value) bool {
	comparable := func(v ir.Value) bool {
		switch v.(type) {
		case string, int64, bool, time.Duration:
			return true
		}
		return false
	}
	if list, ok := r.literal.([]any); ok {
		return comparable(l.literal) && !slices.ContainsFunc(list, func(v any) bool { return !comparable(v) })
	}
	return comparable(l.literal) && comparable(r.literal)
}

// foldClause decides a clause between two literals.
func foldClause(op ir.Op, l, r ir.Value) bool {
	switch op {
	case ir.Eq:
		return l == r
	case ir.Ne:
		return l != r
	case ir.In, ir.NotIn:
		return slices.Contains(r.([]any), l) == (op == ir.In)
	case ir.Matches:
		return matches(r.(string), l.(string))
	case ir.Lt:
		return number(l) < number(r)
	case ir.Le:
		return number(l) <= number(r)
	case ir.Gt:
		return number(l) > number(r)
	case ir.Ge:
		return number(l) >= number(r)
	case ir.Exists, ir.NotExists, ir.Contains: // have no two literals
	}
	panic(ir.NoForm("golang.foldClause", op))
}

func number(v ir.Value) int64 {
	if d, ok := v.(time.Duration); ok {
		return int64(d)
	}
	n, _ := v.(int64)
	return n
}
