// Package facts is what a database holds after a run: records, the steps of their
// histories, messages, deadlines, consumed keys, and the traces of effects that were
// carried out inside a transaction. It reads them with SQL, without an engine and without
// a store.
//
// The checkers of packages crash and simulate read the same facts, and each has its own
// rules. No rule is in this package, and neither checker imports the other: what one
// of them overlooks, the other can still find. So the package imports no engine, no store,
// no table of a machine and no interpreter, and TestImports holds it to that.
package facts
