// Package simulate runs an engine, its store and its effects as a play that
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
// # What goes wrong
//
//   - Workers die: between two rounds; before a transaction begins, before it
//     commits and after; after a claim of which they do not learn, and of which
//     they do; in a handler, before and after the effect has happened. Another
//     takes the place of each.
//   - The store fails: at once, before a commit, or after it, so that the outcome
//     is unknown; a read or a claim fails; a commit is a conflict.
//   - Handlers fail, for now or for good, panic, hang, hang whatever their context
//     says, take longer than their lease, answer what is no event or is refused by
//     then; and fail, panic or vanish after the effect has happened. A handler inside
//     a transaction fails or panics.
//   - Queries fail, for now, for good or however often they are tried, panic, and
//     answer late.
//   - The store is away for longer than a lease: from one worker, whose tasks others
//     take over meanwhile, or from all.
//   - The clocks of some workers' machines differ by minutes from the database's,
//     which does not always tell the time.
//   - Some workers run an older version of a machine: one that lacks an effect, the
//     event of a deadline or a state, and every transition that leads there. They are
//     given none of what was asked for by or in these.
//   - Some workers carry some effects out within their transactions (engine.Inline):
//     these have an answer, that may be refused, or none, fail, panic, are slow, have
//     a statement fail, or end their worker.
//   - Leases run out while a handler is at work, so that an effect is delivered
//     again and the first worker comes late; deadlines and answers come after
//     their state was left; the clock jumps ahead and back.
//   - Callers repeat what they can't know the outcome of, repeat a call with its
//     key elsewhere, create what exists, roll their own transaction back, and fire
//     what nobody may; they fire several events in one transaction of the engine
//     (engine.Transact), try some of them, have the rest written in between, and
//     change their minds; a person requeues, discards and resumes.
//
// Happenings lists them; many plays together must have each at least once.
//
// # The audit
//
// During the play, every attempt is compared with what the outside world has seen
// (delivery class, lane, payload), and every ending that a commit stored with who
// held the lease. After the play comes the audit, which reads what is stored and
// asks nothing of the engine. It replays each history through the reference
// interpreter, so it knows on its own account which state, version, fields,
// messages, calls inside the transaction and deadline a record must have; it
// compares what callers were told with what is there; it looks whether an effect
// that left a trace in its transaction has its answer there or is a message, and
// never both; and it looks at what the outside world has seen. Then nothing goes
// wrong any more, everything comes to rest, and the audit looks for what can't be
// then.
//
// # What it can't show
//
// Transactions do not overlap: locks, deadlocks and claims that skip what another
// is claiming are for the races of packages storetest and crash. A worker does
// its tasks one after the other, by Engine.Step, or a few at once, whose transactions
// take turns, so that their answers are stored together: the hands, the wake-ups and the
// graceful stop of Engine.Run are not played. A death undoes a transaction or
// leaves it whole; that a database does so when its process is killed, or its disk
// is full, package crash and the tests of the stores show. Rows that effects
// write to tables of their own are compared between stores and not audited; log
// lines and metrics are neither. Nobody breaks a row by hand. Where a step is refused
// together with a record that it starts, each store may name another of several
// reasons, so the play knows one.
package simulate
