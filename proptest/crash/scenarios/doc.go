// Package scenarios derives from a table what may happen to its records when an
// engine runs them: what callers fire, how long nobody does anything, and what
// handlers reply.
//
// The reference interpreter decides, and a small model of the engine stands
// around it: what is due is delivered before a caller comes again, work ends with
// its state, a timer fires when its time has come. A breadth-first search over
// this finds a short life for each transition of a machine; what it does not find is
// aimed at, from the moment that is nearest to the transition's guard. Lives that
// another one begins with fall away. [Vary] adds lives in which handlers fail.
//
// What is found is a suggestion: the model knows which row of a table refers to
// which, and nothing of what is unique, of leases and of pauses between attempts.
// Whoever lives a life goes on where the engine refuses a step, and counts what
// really happened. A [Script] is one telling of a life: whatever has to be unique
// in a database is different in each.
package scenarios
