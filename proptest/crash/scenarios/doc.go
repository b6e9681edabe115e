// Package scenarios derives from a table what may happen to its records when an engine
// runs them: which events callers fire, how much time passes, and what handlers reply.
//
// The reference interpreter decides, inside a small model of the engine: due tasks are
// done before the next event of a caller, work ends with its state, and a deadline fires
// when it is due. A breadth-first search over this model finds a short scenario for each
// transition of a machine. For a transition that it does not find, it aims at the guard
// from the nearest moment. Scenarios that are the beginning of another one are dropped.
// [Group.Vary] adds scenarios in which handlers fail.
//
// A scenario is a suggestion: the model knows which row of a table refers to which, and
// nothing about uniqueness, leases and pauses between attempts. The process that runs it
// continues if the engine refuses a step, and counts what really happened. A [Script] is
// a scenario with concrete values: values that must be unique in a database differ from
// script to script.
package scenarios
