// Package store is the interface between the engine and a database: [Store], the rows that it
// keeps, the questions that it answers, and the errors that it returns. Packages
// adapters/postgres and adapters/sqlite implement it; package proptest/storetest is the
// conformance suite for another implementation.
//
// A program that runs machines needs package engine alone, which has names of its own for
// what its methods take and return.
package store
