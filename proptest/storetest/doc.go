// Package storetest is the conformance suite of stores. Run checks the contract of
// store.Store, without an engine; package enginecases checks an engine on the store. Each
// case gets a database of its own and runs in parallel with the others.
//
// The package is for tests only and knows no database. What can't be said in SQL that
// every database understands, a case asks its Subject for. A Fixture is a migrated store
// with machines, for these cases and those of package enginecases.
package storetest
