// Package sqlite keeps records, histories, the outbox, deadlines and
// idempotency keys in one SQLite file: the store of an engine that runs
// embedded in a service, without a server.
//
// # What it guarantees
//
// An accepted event is one transaction: all of it is in the file or none. With
// [Full], the default, a commit has reached the disk when Save's transaction
// returns, so it survives the loss of power; with [Normal] it survives the death
// of the process, but the last commits may be missing after a loss of power.
// Effects are delivered at least once, as their class allows: the store leases
// each to one worker at a time and lets a worker that lost its lease store
// nothing. Any number of processes on one machine can share the file; they wait
// for each other's transactions for at most Options.BusyTimeout and learn of
// each other's work by polling. A commit of the same process wakes its workers.
//
// While another file or none is at the path, a read by a new connection and each
// commit fail with [ErrGone]. The store goes on when the file is back, and no
// commit is lost. Open refuses a path where the write-ahead log lies without its
// file.
//
// # What it needs
//
// Read and write permission for the file and its folder, in which SQLite keeps
// two more files (-wal and -shm) beside it, on a local file system: the
// write-ahead log works on no network file system. A user that can write to the file
// by other means must set PRAGMA foreign_keys = ON.
//
// # What it must not know
//
// What a state, an event or an effect means. It stores what the engine decided.
package sqlite
