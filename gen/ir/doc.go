// Package ir is the resolved model of the machines and the lowering into it.
//
// It holds pointers instead of names, keeps every source position, and knows
// nothing of YAML, Go or SQL. Spec order is kept in every slice. Wildcards
// and lists are expanded: a [Row] has one source state and one event, and its
// Actions are already in the order exit, row, entry, machine, so no back end
// ever decides an order.
//
// [Lower] turns parsed files into machines; it reports names that resolve to
// nothing and values of the wrong type. Whether a machine makes sense is the
// business of package check.
package ir
