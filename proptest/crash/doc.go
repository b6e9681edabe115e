// Package crash is what the generated tests of a machine call to prove what
// it has to survive in an engine: being killed at every boundary between two
// durable facts ([Kill]), and being raced ([Race]).
//
// # The crash proof
//
// Lives, which package scenarios derives from the table, take records of the machine
// through it. A child process lives them on a real database, over a store and
// over handlers that know by name where something has just become durable, or is
// about to: the points. At the chosen hit of a point the process kills itself
// with SIGKILL. The next child finds what the first one left, recovers, lives the
// life to its end and goes on with the next one, to be killed at another point.
//
// A window is a point together with the machine and with what is under way
// there: a creation, an event of a caller, an answer, a deadline, a delivery.
// Which windows a machine should pass follows from its table. The proof fails if
// one that a life passes was never hit. What no life reaches, a window, a
// transition, a timer or an effect, is named in the output; it is a failure where
// the folder of the specs has a file unreached.txt that does not list it.
//
// A kill takes no time: the clock is the script's, and the next process ends the
// leases of the dead one.
//
// # The judge
//
// What the lives left is judged without the engine: the tables are read with
// SQL, what handlers did is read from a diary that they wrote, and what should
// be there follows from the static table of the generated package. Besides, a
// life that was cut has to end like the same life that nobody cut.
//
// Work has to end with its state: the database itself notes who leases what, and
// handlers note how their record stands when they are called.
//
// # Fleets and storms
//
// In a fleet three processes share the work of one life, and the first of them
// that gets to a window is killed there; the others take over. The time of all is
// in a file, and stands still but for the repeats that they wait for. In a storm the server
// is killed under many clients instead; time is real then. Both are judged by the
// same judge.
//
// # The race proof
//
// Each event of a life is fired by a crowd of callers at once, while two workers
// share what comes of it. The same judge looks at it afterwards.
package crash
