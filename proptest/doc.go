// Package proptest is what the generated tests of a machine call: it proves
// that generated Go, the reference interpreter, SQLite and PostgreSQL decide
// alike.
//
// A generated test names its machine with [Load] and gives its own package as
// a [Subject]. Then:
//
//   - [Equivalence] runs every (state, actor, event, guard outcome) through
//     both and compares decision, record and effects.
//   - [Databases] stores what they produce in SQLite and in PostgreSQL (the
//     environment variable FSMGEN_POSTGRES_DSN) and checks that both refuse
//     what the table refuses.
//   - [Properties] runs random command sequences with the interpreter as the
//     model; [Fuzz] does the same for go test -fuzz. A failure prints its
//     seed; -rapid.seed=N repeats it, and so does -rapid.failfile=PATH with
//     the file that it names.
//   - [NegativeCompile] checks that the typed view compiles for legal
//     transitions only.
//
// [Calls] gives what these tests try to others that look for events worth firing.
//
// Every test logs how many cases it ran, and says when a space of values was
// too large and it drew a sample instead. A sample begins with payloads and records
// that satisfy the guards.
package proptest
