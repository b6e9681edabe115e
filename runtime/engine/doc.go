// Package engine runs generated machines durably: it fires events at records,
// stores what they decide, and carries out what they ask for, across crashes and
// in any number of processes.
//
// # Use
//
// In this order: make a store, make an Engine from it and the machines with
// their handlers, call Migrate, fire events with Create and Fire, and keep Run
// going in at least one process.
//
// # Durable semantics
//
// What the package guarantees, together with a store that passes the exam of
// proptest/storetest:
//
//  1. An accepted event is one transaction: for each step the record's row,
//     compared with the state and version that were read, one row of the
//     history, its effects, its deadline. A chain of raised events and the
//     records that it starts are part of it. A rejected event changes nothing.
//  2. FireTx makes all that part of the caller's own transaction, which it
//     neither commits nor rolls back.
//  3. Firing again is safe. With a key, be it the caller's or the event's own, an
//     accepted event answers the same call again and changes nothing; a key is
//     used up by acceptance alone and kept for ever. Without one, an event that
//     leads to where the record is may be AlreadyThere, if the machine says so.
//  4. Of two writers on one record one commits; the other gets a *ConflictError
//     that says what is there now. The engine does not fire a caller's event
//     again by itself; RetryConflicts helps a caller that wants it. An event with Call.IfVersion is applied to the record at
//     exactly that version, or not at all: a *VersionError. Everything that a worker stores carries the token of its
//     lease: a worker that lost it stores nothing.
//  5. Effects are delivered as their class allows. A transaction effect runs
//     inside the step's transaction, after the record's row is written; its
//     failure undoes the step. Any other is a row of the outbox, dispatched after
//     the commit: an idempotent or keyed one may repeat, each time with the same
//     Dispatch.ID; a queryable one is asked for before every attempt but that of a
//     message that the transaction which stored it claimed for this process, and
//     before it is given up: a query that fails is repeated, then the effect is lost,
//     or its message a dead letter, but never failed; an at_most_once one is
//     attempted once. What an attempt left behind is
//     cleaned up before a repeat. Messages of one record and lane are delivered
//     in order, one at a time; a dead letter keeps back what is behind it until
//     a person requeues or discards it. Other lanes go on. Nothing is claimed to
//     happen exactly once outside of the database.
//     A worker of the process that stores a step takes the step's effects as they
//     are stored, as far as it has hands for them and nothing of the record stands
//     before them: they are claimed from their beginning, and begun after the
//     commit. Should the process die in between, they wait until the lease is over.
//     An effect that Inline names is carried out within the transaction that asks
//     for it where nothing stands against that, and is no row of the outbox then.
//  6. The answer of an effect is an event, fired by the system in the
//     transaction that completes the effect. A failed effect is repeated with
//     bounded exponential backoff and jitter; then its failure is an event, if it
//     has one, or it is a dead letter. An effect that names no failure class and
//     answers its failure with an event is not repeated when its handler reports
//     a failure, only when nobody could report.
//  7. A deadline is a row that the step arms, and that leaving the state removes,
//     as it cancels the work of that state. A deadline or an answer that comes
//     later changes nothing; a deadline whose event is refused is consumed,
//     logged and counted.
//  8. A crash leaves records that go on: what was claimed and not settled is
//     claimed again when its lease has run out, and treated by its class.
//  9. The database enforces the table as well: that is the work of the generated
//     schema. What it refuses is a *RefusedError, rolled back; if the machine has
//     a fatal event, that one is fired then, once.
//  10. Every call takes a context first, and carries a correlation id: into the
//     history, the outbox, deadlines, dispatches, log lines, and into whatever
//     these fire in turn.
//
// A worker claims only effects and events that its machines know. Those of a newer
// or older version of a machine stay for the processes that run it; a message that
// no process knows waits, and holds up what is behind it in its lane.
//
// Pause holds back a machine, an effect or a destination in all processes. Nothing that
// the engine can begin passes a pause by; what is claimed already ends as usual.
//
// What goes wrong with one record stays with it: a row that can't be read, a handler that panics or does not return
// is an error or a dead letter that names the record, and the worker goes on.
//
// # Order
//
// A firing loads, decides, carries out what Inline names, saves, and then runs the
// transaction handlers. Save locks a record's row before any row of the outbox, of
// deadlines or of keys, so that two firings on one record queue up at the record
// and nowhere else. Answers that come at the same time share a transaction. Log
// lines and metrics follow the commit. No lock of the engine is held while user
// code runs; a handler inside a transaction fires with FireTx, and is told so if
// it does not.
//
// # Limits
//
// A handler that ignores its context can't be stopped: after HandlerTimeout it is
// left alone and may still be at work while the effect is repeated. Its result
// reaches nobody. Log lines and metrics of a step may be lost by a crash right
// after the commit.
//
// The clock of the database is measured once a minute; between two processes it may
// differ by as much as half a round trip. A breaker and a limit are those of one
// process: several processes together may do several times as much.
//
// Not there yet: the locks that a spec declares, without which the version and
// the lease keep records and effects safe; asking again for work whose answer the
// record refused, which Resume does not do.
package engine
