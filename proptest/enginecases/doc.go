// Package enginecases checks an engine on a store that has passed package storetest. Every
// sentence of the durable semantics has a case, and so has every known bug of other
// engines. Each case gets a database of its own and runs in parallel with the others.
//
// The package is for tests only and knows no database. The machines are generated from the
// specs. The cases set the handlers and the clock.
package enginecases
