// Package simulation runs an engine, its store and its effects as a play that
// one seed decides: which records there are, who fires what at them, what becomes
// of every effect, which transaction fails and how, which worker dies when, and
// how the clock runs. A test-only library, as package storetest is.
//
// Nothing is left to the scheduler of Go. Whatever happens while something else
// is under way, happens because the seed lets it in at one of a few places: before
// and after a transaction, after a claim, and while a handler is at work. So one
// worker can overtake another, and a caller can leave a state whose work is under
// way, and the same seed gives the same log again, on every store.
//
// After the play comes the audit, which reads what is stored and asks nothing of
// the engine. It replays each history through the reference interpreter, so it
// knows on its own account which state, version, fields, messages, calls inside
// the transaction and deadline a record must have; it compares what callers were
// told with what is there; and it looks at what the outside world has seen.
package simulation
