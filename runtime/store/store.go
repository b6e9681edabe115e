package store

import (
	"context"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Store keeps records, histories, the outbox, deadlines and idempotency keys. T is the
// transaction type of its driver, so that the caller's own writes and a transition commit
// together. A store is safe for concurrent use.
//
// For every method:
//
//   - Times are in UTC, cut to microseconds by the engine. A store never reads a clock: "now"
//     is a parameter.
//   - A method returns the errors that it documents so that errors.Is and errors.As find them.
//     It wraps any other failure (connection, disk, syntax) by [Failed], so that errors.Is(err,
//     ErrStore) holds. errors.Is still finds the errors of the context.
//   - InTx, Load, Claim and Read return a *SchemaError, and do nothing, if the engine's tables
//     are not at the version of the store. A store checks until it has seen that version once.
//   - A method that returns an error of the database inside a transaction does not roll back.
//     The caller must.
//   - A transaction locks the rows of records first, and then rows of the outbox, of deadlines
//     and of keys. Save keeps that order however its commits are listed, so two commits on one
//     record never deadlock.
type Store[T any] interface {
	// Migrate brings the engine's tables to the current version by numbered migrations,
	// creates the tables of each machine whose record table does not exist, and installs the
	// rules by which the database refuses rows that [RowRules] does not allow. Rules of a later
	// version of a machine stay. Migrate may be called again, and from several processes at
	// once. A schema newer than the store knows is a *SchemaError, and a record table that lacks
	// a column of its machine a *TableError; Migrate has changed nothing then. If functions,
	// triggers, constraints or indices of a machine whose tables existed differ from its schema,
	// Migrate does everything else and returns a *DriftError.
	Migrate(ctx context.Context, machines []Machine) error

	// InTx runs f in one transaction that can write, once. It commits if f returns nil. Else it
	// rolls back and returns the error of f; if the transaction broke under f (connection lost,
	// disk full), errors.Is finds ErrStore besides. A serialisation failure or a deadlock, in f
	// or at commit, is [ErrConflict]. A panic in f rolls back and is passed on.
	InTx(ctx context.Context, f func(T) error) error

	// Load answers queries, one row a query in their order. It takes no locks but those of
	// Query.Lock. A record or key that does not exist is not an error. A record table that
	// lacks a column of its machine is a *TableError; so it is for Read and Save.
	Load(ctx context.Context, tx T, queries []Query) ([]Row, error)

	// Save writes accepted events, all or none, in the order of the list. For each commit it
	// does, in this order:
	//
	//  1. Each step. Version 1 is an INSERT into Tables.Record. A later version is an UPDATE of
	//     the row with this id, the state From and version Version-1. It sets version, last_event
	//     and updated_at (At); entered_at too if Entered (created_at on creation); and the columns
	//     that StepWrite.Changed lists, all of them on creation. A store may also write back
	//     unchanged columns. A chain of steps is several updates, since triggers check each edge.
	//     After each step Save inserts its history row, with created_at At, and, if Forced is set,
	//     that with the machine, the record and the version. Without steps and with Expect > 0 it
	//     locks the record's row, which must be at that version.
	//  2. Writes, in their order.
	//  3. Task is settled, as by Settle.
	//  4. CancelWork marks each row of the outbox of this machine and record as cancelled whose
	//     work is true and whose state is pending, retry_wait, delivering or dead_letter, and
	//     that is not cancelled yet.
	//  5. Rows of the outbox are inserted.
	//  6. ClearDeadlines deletes this record's deadlines of those kinds. SetDeadlines inserts its
	//     deadlines, or replaces the row with the same (machine, record, kind) if that is of an
	//     earlier version; a row of the same or a later version stays. The replacement has no lease.
	//  7. IdempotencyKeys are inserted.
	//
	// Errors: if the UPDATE or the lock of Expect finds no row, *ConflictError with the version
	// and state that are there now, where the store can tell (Version 0: unknown, or no record).
	// If the INSERT meets the same id, *ExistsError. For a unique constraint of the machine's own
	// table, *UniqueError. If a key exists, *KeyError. For Task, [ErrLeaseLost]. For a CHECK, a
	// trigger (the message begins with "fsmgen: "), a foreign key or a value of the wrong type,
	// *RefusedError. If several commits fail, Save reports the first failure within a commit and
	// the records that it starts. Among unrelated commits it may report any. After an error the
	// caller must roll back.
	Save(ctx context.Context, tx T, commits []Commit) error

	// Claim leases due messages and due deadlines to a worker and returns them oldest first
	// (messages by AvailableAt, then Version and Seq; deadlines by DueAt). It runs in its own
	// transactions. It returns no message only if it can claim none of the wanted ones. If it
	// returns fewer messages than the claim allows, and more may be due, the next Wait returns
	// at once.
	//
	// A message is due if it is not cancelled and its state is pending or retry_wait with
	// available_at <= Now, or delivering with lease_until <= Now (its worker died). It must also
	// be the first of its ordering key: no row with the same (machine, record, destination) and a
	// smaller (version, seq) is open. Open is: pending or retry_wait, not cancelled; dead_letter,
	// not cancelled, discarded_at null; delivering, and either not cancelled or lease_until > Now.
	// A claimed row gets state delivering, attempts + 1, lease_token Token and lease_until Until;
	// available_at stays. Only the machines and destinations in Claim.Destinations are claimed,
	// and of these only the effects that a Destination names, asked for in a state that it names
	// or in no state. Other rows stay for workers that know them.
	//
	// Rows that wait behind others must not make a claim slower. Claim may mark a due row that is
	// not the first of its ordering key as parked; later claims skip it. An open row that is not
	// cancelled is always before a parked row of the same ordering key. When such a row closes,
	// the transaction that closes it unparks the first parked row behind it. A cancelled row is
	// not parked.
	//
	// A deadline is due if due_at <= Now and its lease_until is null or <= Now. Claimed ones get
	// lease_token and lease_until. Only the machines, events and states in Claim.Events are claimed.
	//
	// Claim skips rows that another worker is claiming at this moment and does not wait for them.
	// A row that can't be read (say, broken JSON) is returned with Task.Err, a *CorruptError, and
	// as much of it as could be read.
	//
	// A row that is due in state delivering was cut short: its worker died or lost its lease.
	// Claim counts that in cut. A row whose cut was above 0 before the claim is a suspect: it may
	// be what ends the processes that carry it out. A claim takes at most Claim.Suspects of them.
	// Many suspects must not keep other rows from being claimed, nor the other way round.
	Claim(ctx context.Context, c Claim) ([]Task, error)

	// Settle stores the outcome of a task, as [Settlement] says. It returns [ErrLeaseLost] if
	// the row does not carry the settlement's token.
	Settle(ctx context.Context, tx T, s Settlement) error

	// Read answers a question outside of any transaction, in one consistent snapshot. An empty
	// page is not an error. A row that can't be read is in the page with its Err.
	Read(ctx context.Context, q Read) (Page, error)

	// Pause stores a pause. It replaces one of the same scope. InTx commits it.
	Pause(ctx context.Context, tx T, p Pause) error

	// Unpause removes the pause of a scope and reports whether there was one. The commit by
	// InTx ends the Wait of workers.
	Unpause(ctx context.Context, tx T, s Scope) (existed bool, err error)

	// Wait returns nil when work may have arrived, and after d at the latest. It may return
	// early without a reason. Commits of other processes end it where the database can tell
	// (LISTEN and NOTIFY). If ctx ends, Wait returns its error.
	Wait(ctx context.Context, d time.Duration) error
}

// Query asks for one record, for idempotency keys, and whether a task still holds its lease.
type Query struct {
	Machine         string
	Tables          fsm.Tables
	ID              string     // text form, as the engine's tables hold it
	IDValue         any        // the id as a driver value, for the record's table
	Into            fsm.Record // blank; scanned into and returned as Row.Record
	IdempotencyKeys []string   // idempotency keys to look up, of this machine; mostly none
	Task            *TaskRef   // whether it is still held; nil: not asked
	// OnlyPending asks whether no other message of the record is open.
	OnlyPending bool
	// Lock locks the record for writing until the transaction ends. Load waits for other
	// writers.
	Lock bool
}

// TaskRef names a leased message or deadline.
type TaskRef struct {
	Kind      TaskKind
	MessageID string       // of an effect
	Deadline  DeadlineKind // of a deadline; machine and record are those around it
	Token     fsm.UUID
}

// Row is the answer to one query.
type Row struct {
	Record          fsm.Record // Query.Into; nil: no such record
	Version         int64
	EnteredAt       time.Time        // when its state was entered
	IdempotencyKeys []IdempotencyKey // those that exist, in any order, with By and Payload
	// Held reports that the row of Query.Task exists and carries its token (a message: in
	// state delivering). Cancelled reports that it is a message whose state was left. Both
	// are read in the snapshot of the record or after it, never before.
	Held, Cancelled bool
	// OnlyPending reports that Query.OnlyPending was set and that no message of this record is
	// open but that of Query.Task. It is read when Held is.
	OnlyPending bool
	// Err is a *CorruptError if the record can't be read. Record is nil then.
	Err error
}

// Commit is one accepted event on one record; or, without steps, the end of a task or a new
// deadline.
type Commit struct {
	Machine string
	Tables  fsm.Tables
	ID      string // text form
	IDValue any    // driver value
	Expect  int64  // without steps: the version that the record must have; 0: any
	Steps   []StepWrite
	Writes  []fsm.TableWrite
	// Task is the task whose event this is.
	Task            *Settlement
	CancelWork      bool // the state was left
	Outbox          []OutboxMessage
	ClearDeadlines  []DeadlineKind
	SetDeadlines    []Deadline
	IdempotencyKeys []IdempotencyKey
	// Last, on the last commit of a Save inside InTx, says that nothing follows in the
	// transaction: the store may commit in the same round trip. A caller's own transaction
	// ignores it.
	Last bool
	// NoWakeup says that the commit leaves nothing to claim: Save need not wake workers.
	NoWakeup bool
	// ShortLockWait says that other calls wait for this Save: it waits for locks only briefly
	// and then returns ErrConflict. A store with one writer at a time may ignore it.
	ShortLockWait bool
}
