// Package oracle compares what a chain of tontest has with what the database says, to the nano. It
// reads both itself and asks no service. Nothing but tests imports it.
package oracle
