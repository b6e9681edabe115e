// Package crash is called by the generated tests of a machine. [Kill] proves that an
// engine with the machine survives being killed at every boundary between two durable
// facts. [Race] proves that concurrent callers can't break it.
//
// # The crash proof
//
// Package scenarios derives scenarios from the table. A worker process runs them on a
// real database, with a store and handlers that pass named failpoints: the points right
// before or after something becomes durable. At the chosen hit of a point the process
// kills itself with SIGKILL. The next process finds what the first one left, recovers,
// runs the scenario to its end and goes on with the next one, to be killed at another
// point.
//
// A window is a point together with the machine and with what is under way there: a
// creation, an event of a caller, an answer, a deadline, a delivery. Which windows a
// machine must pass follows from its table. The proof fails if a window that a scenario
// passes was never hit. Whatever no scenario reaches, a window, a transition, a deadline
// or an effect, is named in the output. It is a failure if the folder of the specs has a
// file unreached.txt that does not list it.
//
// A kill takes no time: the script sets the clock, and the next process ends the leases
// of the dead one.
//
// # The checker
//
// The checker does not use the engine. It reads the tables with SQL and the event log
// that handlers wrote, and derives what must be there from the static table of the
// generated package. In addition, a scenario that was killed must end like the same
// scenario without a kill.
//
// Work must end with its state: the database records which worker leases which message,
// and handlers log the state of their record when they are called.
//
// # Several workers, and a killed server
//
// Three processes share the work of one scenario, and the first of them that reaches a
// window is killed there; the others take over. All of them read the time from a file.
// It stands still but for the repeats that they wait for. [KillServer] kills the server
// under many clients instead, in real time. The same checker checks both.
//
// # The race proof
//
// Several callers fire each event of a scenario at once, while two workers share the
// effects. The same checker checks the result.
package crash
