// Package sqlite implements store.Store with one SQLite file. It is for an engine that runs
// inside a service, without a database server.
//
// # What it guarantees
//
// An accepted event is one transaction. With [Full], the default, a commit is on the disk when
// its transaction returns, so it survives the loss of power. With [Normal] it survives the
// death of the process, but the last commits may be lost with the power.
//
// The store leases an effect to one worker at a time, and a worker that lost its lease can
// store nothing. So an effect is delivered at least once, within the limits of its delivery
// class.
//
// Any number of processes on one machine may share the file. A transaction waits for those of
// other processes for at most Options.BusyTimeout. A commit wakes the workers of its own
// process. Workers of other processes find the work by polling.
//
// While the file is missing, or another file is at its path, every commit and every read by a
// new connection fail with [ErrGone]. The store continues when the file is back, and no commit
// is lost. [Open] returns ErrGone if there is a write-ahead log without its file.
//
// # What it needs
//
// The process needs read and write permission for the file and its folder, where SQLite keeps
// two more files (-wal and -shm). The folder must be on a local file system: the write-ahead
// log does not work on a network file system. Other programs that write to the file must set
// PRAGMA foreign_keys = ON.
//
// # What it must not know
//
// The store does not know what a state, an event or an effect means. It stores what the engine
// decided.
package sqlite
