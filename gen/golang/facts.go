package golang

import "github.com/fsmgen/fsmgen/gen/ir"

// facts are what the guards of a row have established where its body stands.
type facts struct {
	present map[string]bool    // keys of operands that are present
	holds   map[statement]bool // comparisons that hold
}

// statement is a comparison of two operands, by key.
type statement struct {
	left, right string
	op          ir.Op
}

func newFacts() facts { return facts{present: map[string]bool{}, holds: map[statement]bool{}} }

// learn adds what follows from a clause that holds in s.
func (f facts) learn(s *scope, c *ir.Clause) {
	l := s.read(&c.Left)
	if c.Op.Presence() {
		if c.AssertsPresence() {
			f.present[l.key] = true
		}
		return
	}
	r := s.read(&c.Right)
	f.present[l.key], f.present[r.key] = true, true
	f.holds[statement{l.key, r.key, c.Op}] = true
	if mirror, ok := mirrored(c.Op); ok {
		f.holds[statement{r.key, l.key, mirror}] = true
	}
}

// mirrored is the operator that says the same with the operands exchanged, if there is one.
func mirrored(op ir.Op) (ir.Op, bool) {
	switch op {
	case ir.Eq, ir.Ne:
		return op, true
	case ir.Lt:
		return ir.Gt, true
	case ir.Gt:
		return ir.Lt, true
	case ir.Le:
		return ir.Ge, true
	case ir.Ge:
		return ir.Le, true
	case ir.Exists, ir.NotExists, ir.In, ir.NotIn, ir.Contains, ir.Matches:
		return "", false
	}
	panic(ir.NoForm("golang.mirrored", op))
}

// implies reports whether the comparison was established.
func (f facts) implies(op ir.Op, l, r value) bool {
	return f.holds[statement{l.key, r.key, op}]
}

// presence tests a value's presence unless that was established.
func (f facts) presence(v value) test {
	if v.present == nil || f.present[v.key] {
		return known(true)
	}
	return plain(v.present)
}

// conjunction tests clauses from left to right, each knowing the ones before.
func (s *scope) conjunction(clauses []*ir.Clause, f facts) test {
	var tests []test
	for _, c := range clauses {
		tests = append(tests, s.clause(c, f))
		f.learn(s, c)
	}
	return all(tests...)
}
