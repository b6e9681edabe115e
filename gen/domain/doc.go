// Package domain evaluates clauses and expressions over values, and divides
// the values that a machine can meet into finite classes, so that overlap,
// completeness and equivalence can be decided by enumeration.
//
// [Eval] and [EvalExpr] are the meaning of the language's clauses and right
// sides. A [Space] holds the variables that a set of clauses and assignments
// reads (their cone of influence) and, for each, representatives of every
// class of values that the clauses can tell apart.
//
// It serves the checker, the interpreter and the tests alike; generated Go
// and the databases do not share it, which is what makes them comparable.
package domain
