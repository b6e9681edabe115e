// Package simulate runs an engine, its store and its effects from one seed. The seed
// decides which records there are, which calls are made, what happens with every effect,
// which transaction fails and how, which worker dies when, and how the clock moves. It is
// a library for tests, as package storetest is.
//
// Nothing depends on Go's scheduler. Whatever happens while something else is under way
// happens at one of a few places where the seed allows it: before and after a
// transaction, after a claim, and while a handler runs. So one worker can overtake
// another, and a caller can leave a state whose work is under way. The same seed gives
// the same log, on every store.
//
// # Faults
//
//   - Workers die: between two rounds; before a transaction begins, before it commits and
//     after; after a claim whose answer they do not get, and after one whose answer they
//     get; in a handler, before and after the effect has happened. Each is replaced by
//     another.
//   - The store fails: at once, before a commit, or after it, so that the outcome is
//     unknown. A read or a claim fails. A commit is a conflict.
//   - Handlers fail, for now or permanently, panic, hang, hang and ignore their context,
//     take longer than their lease, and answer an event that does not exist or is refused
//     by then. They fail, panic or vanish after the effect has happened. A handler inside
//     a transaction fails or panics.
//   - Queries fail, for now, permanently or however often they are repeated, panic, and
//     answer late.
//   - The store can't be reached for longer than a lease: by one worker, whose tasks
//     others take over, or by all.
//   - The clocks of some workers' computers differ by minutes from the database's. The
//     database does not always tell the time.
//   - Some workers run an older version of a machine. It lacks an effect, the event of a
//     deadline or a state, and every transition that leads there. These workers must not
//     be given tasks that need what they lack.
//   - Some workers carry out some effects inside their transactions (engine.Inline). Such
//     an effect has an answer, which may be refused, or none. It fails, panics, is slow,
//     has a statement fail, or ends its worker.
//   - Leases end while a handler runs, so an effect is delivered again and the first
//     worker comes late. Deadlines and answers come after their state was left. The clock
//     jumps ahead and back.
//   - Callers repeat calls of unknown outcome, use a key for another call, create records
//     that exist, roll their own transaction back, and fire events that they may not. They
//     fire several events in one transaction (engine.Transact), try some of them, flush in
//     between, and roll back. An operator requeues, discards and resumes.
//
// Situations lists them. The runs of many seeds together must reach each at least once.
//
// # The checker
//
// During the run, every attempt is compared with what the outside world has seen
// (delivery class, ordering key, payload), and every settlement that a commit stored with
// the lease that its worker held. After the run the checker reads what is stored and asks
// nothing of the engine. It replays each history through the reference interpreter, and
// so knows which state, version, fields, messages, calls inside transactions and deadline
// a record must have. It compares what callers were told with what is stored. It checks
// that an inline effect with a trace has its answer in the same transaction or is a
// message, and never both. It checks what the outside world has seen. Then the faults
// end, everything comes to rest, and the checker looks for what must not be left.
//
// # Limits
//
// Transactions do not overlap. Locks, deadlocks and claims that skip what another claim
// has locked are left to the races of packages storetest and crash. A worker does its
// tasks one after the other, by Engine.Step, or a few concurrently, whose transactions
// take turns, so that their answers are stored together. The slots, the wake-ups and the
// graceful stop of Engine.Run are not simulated. A death rolls a transaction back or
// leaves it whole. That a database does the same when its process is killed, or its disk
// is full, is tested by package crash and the tests of the stores. Rows that effects
// write to tables of their own are compared between stores and not checked. Log lines and
// metrics are neither. No row is changed by hand. If a step is refused together with a
// record that it starts, each store may report another of several reasons, so a run knows
// only one.
package simulate
