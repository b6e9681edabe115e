// Package engine runs generated machines durably: it fires events at records, stores what
// the machine decides, and carries out effects and deadlines, across crashes and in any
// number of processes.
//
// # Use
//
// Make a store, make an Engine from it and the machines with their handlers, call Migrate,
// fire events with Create and Fire, and keep Run going in at least one process.
//
// # Guarantees
//
// The package guarantees the following together with a store that passes the conformance
// suite of proptest/storetest.
//
//  1. An accepted event is one transaction. For each step it updates the record's row,
//     compared with the state and version that were read, and inserts one row of the history,
//     the messages of its effects, and its deadline. Raised events, and the records that a
//     step starts, are part of that transaction. A rejected event changes nothing.
//  2. FireTx does the same inside the caller's transaction. It neither commits nor rolls back.
//  3. Firing again is safe. An accepted event with an idempotency key, the caller's or the
//     event's own, answers the same call again and changes nothing. Only acceptance uses a
//     key up, and a key is kept for ever. Without a key, an event that leads to the state that
//     the record is in returns AlreadyThere, if the machine says so.
//  4. Of two writers on one record one commits. The other gets a *ConflictError with the
//     state and version that are there now. The engine does not repeat a caller's event;
//     RetryConflicts does. An event with Call.IfVersion is applied to exactly that version, or
//     fails with a *VersionError. Everything that a worker stores carries the token of its
//     lease. A worker that has lost the lease stores nothing.
//  5. Effects are delivered by their class. A transaction effect runs inside the step's
//     transaction, after the record's row is written; its failure undoes the step. Any other
//     effect is a message, a row of fsm_outbox, that is delivered after the commit. An
//     idempotent or keyed effect may be repeated, each time with the same Dispatch.ID. Before
//     each attempt at a queryable effect, and before its message is given up, the handler is
//     asked whether the effect has happened; only the first attempt of a message that its own
//     transaction reserved for this process goes without. A query that fails is repeated; after
//     the last repeat the effect is lost, or its message is a dead letter, but it has not failed.
//     An at_most_once effect is attempted once. The cleanup of an effect runs before each repeat.
//     Messages of one record with one ordering key are delivered in order, one at a time. A
//     dead letter blocks the messages behind it until an operator requeues or discards it.
//     Other ordering keys go on. Outside of the database nothing is promised to happen exactly
//     once.
//     If this process has a worker with a free slot and no earlier message of the record is
//     pending, Save inserts the message already claimed, and the worker starts it right after
//     the commit. If the process dies before that, the message waits until its lease ends.
//     An effect that Inline names is carried out inside the transaction that asks for it, if
//     nothing prevents that. It is no message then.
//  6. The answer of an effect is an event, fired by the system in the transaction that
//     settles the message. A failed effect is repeated with bounded exponential backoff and
//     jitter. After that its failure is an event, if it has one, or the message is a dead
//     letter. An effect without a failure class that answers its failure with an event is
//     repeated only if the handler could not report an outcome.
//  7. A deadline is a row that the step sets. Leaving the state deletes it, and cancels the
//     messages of effects that belong to that state. A deadline or an answer that comes later
//     changes nothing. A deadline whose event is refused is consumed, logged and counted.
//  8. After a crash, a message or deadline that was claimed and not settled is claimed again
//     when its lease ends, and is treated by its class.
//  9. The database enforces the table as well: that is the generated schema. What it refuses
//     is a *RefusedError and is rolled back. If the machine has a fatal event, it is fired
//     then, once.
//  10. Every call takes a context first. A correlation id goes with it into the history,
//     messages, deadlines, dispatches and log lines, and into the events that these fire.
//
// A worker claims only effects and events that its machines know. Those of another version of
// a machine stay for processes that run it. A message that no process knows waits, and blocks
// the messages behind it.
//
// Pause holds back a machine, an effect or a destination in all processes. Nothing new starts
// in its scope. What is claimed already ends as usual.
//
// A failure of one record stays with that record. A row that can't be read, and a handler that
// panics or does not return, is an error or a dead letter that names the record. The worker goes on.
//
// # Order
//
// Fire loads the record, decides, carries out inline effects, saves, and then runs the
// transaction handlers. Save locks the record's row before any row of the outbox, of deadlines
// or of keys, so two writers on one record wait for each other at that row and nowhere else.
// Answers that arrive at the same time share a transaction. Log lines and metrics follow the
// commit. The engine holds no lock while user code runs. A handler inside a transaction fires
// with FireTx; any other call returns ErrNested.
//
// # Limits
//
// A handler that ignores its context can't be stopped. After HandlerTimeout the engine does
// not wait for it any longer, its result is dropped, and it may still run while the effect is
// repeated. A crash right after a commit may lose log lines and metrics of the step.
//
// The engine measures the clock of the database once a minute. The clocks of two processes may
// differ by half a round trip. A breaker and a limit are those of one process.
//
// A lock that a spec declares can be lost, so no step relies on it: the version and the lease keep
// records and effects safe without it. Resume does not repeat an effect whose answer the record
// refused.
package engine
