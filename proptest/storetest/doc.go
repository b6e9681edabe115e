// Package storetest is the exam that every store of the engine sits. Run asks
// the store itself, Engine asks an engine on top of it; a store that passes both
// can stand under any service. Each test gets a database of its own and runs
// beside the others.
//
// It is for tests only and knows no database: what it can't say in SQL that
// every database understands, it asks its Subject for.
package storetest
