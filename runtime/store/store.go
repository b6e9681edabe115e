package store

import (
	"context"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Store keeps records, histories, the outbox, deadlines and idempotency keys.
// T is the transaction type of its driver, so that a caller's own writes and a
// transition commit together.
//
// What holds for every method:
//
//   - Times are in UTC and cut to microseconds by the engine. A store never
//     reads a clock: "now" is always given.
//   - The errors that a method documents are returned so that errors.Is and
//     errors.As find them; any other failure (connection, disk, syntax) is
//     wrapped with [Failed], so that errors.Is(err, ErrStore) holds.
//     Context errors keep being found by errors.Is through that wrapping.
//   - InTx, Load, Claim and Read return a *SchemaError, and do nothing, where the
//     engine's tables are not at the version of the store. A store asks until it
//     has seen that version once.
//   - A method that returns an error of the database from within a transaction
//     leaves it to the caller to roll back.
//   - Locks are taken in one order: record rows first, then the rows of the
//     outbox, of deadlines and of keys. Save keeps to it whatever the order in
//     which a commit lists things, so that two commits never wait for each other
//     in a circle over one record.
type Store[T any] interface {
	// Migrate brings the engine's tables to the current version by numbered
	// migrations, creates the tables of each machine whose record table does not
	// exist, and makes the database refuse rows of the engine that [RowRules] does
	// not allow; rules of a later version of a machine stay. It can be called again and from several processes at
	// once. A schema newer than the store knows is a *SchemaError, and a record
	// table that lacks a column of its machine a *TableError; nothing is changed
	// then. Where the functions, triggers, constraints or indices of a machine whose tables
	// were there are not those of its schema, all else is done, and the error is a
	// *DriftError.
	Migrate(ctx context.Context, machines []Machine) error

	// InTx runs f in one transaction, once: it commits when f returns nil, else
	// it rolls back and returns the error of f as it is, with ErrStore besides if
	// the transaction broke under f: the connection was lost, the disk is full.
	// The transaction can write. A serialisation failure or a deadlock, in f or
	// at commit, is [ErrConflict]. A panic in f rolls back and goes on up.
	InTx(ctx context.Context, f func(T) error) error

	// Load reads what the queries ask for, one row a query in their order. It
	// takes no lock but those of Query.Lock. A record or key that does not exist is not an error. A record
	// table that lacks a column of its machine is a *TableError, of Read and Save too.
	Load(ctx context.Context, tx T, queries []Query) ([]Row, error)

	// Save writes accepted events, all or none, in the order of the list. For
	// each commit, in this order:
	//
	//  1. Each step: version 1 is an INSERT into Tables.Record; any later one
	//     an UPDATE of the row with this id, the state From and version
	//     Version-1. Version, last_event and updated_at (At) are set; entered_at
	//     too where Entered (created_at on creation); and of the record's columns
	//     those that StepWrite.Changed lists, all on creation. A store may write
	//     more of them as they were read. A chain is several updates, since
	//     triggers judge each edge. After
	//     each step its history row is inserted, created_at being At; and what
	//     Forced says, if anything, with the machine, the record and the version.
	//     Without steps, and with Expect > 0: the record's row is locked and
	//     must be at that version.
	//  2. Writes, in their order.
	//  3. Task is settled, as by Settle.
	//  4. CancelWork marks as cancelled every row of the outbox with this
	//     machine and record where work is true, whose state is pending,
	//     retry_wait, delivering or dead_letter, and that is not cancelled yet.
	//  5. Rows of the outbox are inserted.
	//  6. ClearDeadlines deletes this record's deadlines of those kinds; then SetDeadlines
	//     inserts, or replaces the row of an earlier version, by (machine, record,
	//     kind); one of the same or a later version stays as it is. An arming never
	//     keeps the lease of the row that it replaces.
	//  7. IdempotencyKeys are inserted.
	//
	// Errors: the UPDATE, or the lock of Expect, finds no row: *ConflictError,
	// with the version and state that are there now where the store can say
	// (Version 0: unknown or no record). The INSERT meets the same id:
	// *ExistsError. A unique constraint of the machine's own table: *UniqueError.
	// IdempotencyKeys: one is there already: *KeyError. Task: [ErrLeaseLost]. A CHECK, a
	// trigger (the message begins with "fsmgen: "), a foreign key, or a type that
	// does not fit: *RefusedError. Of a commit and of the creations behind it that
	// it starts, the first that fails is the one that is told; of commits that have
	// nothing to do with each other, any. After any error the transaction is to be
	// rolled back.
	Save(ctx context.Context, tx T, commits []Commit) error

	// Claim leases due rows of the outbox and due deadlines to a worker, and
	// returns them oldest first (effects by AvailableAt, then Version and Seq;
	// deadlines by DueAt). It runs in transactions of its own. It returns no row
	// of the outbox only if none of the wanted ones can be claimed. If it returns
	// some, but fewer than Claim allows, and more may be due, the next Wait
	// returns at once.
	//
	// A row of the outbox is due if it is not cancelled and its state is
	// pending or retry_wait with available_at <= Now, or delivering with
	// lease_until <= Now (its worker died). It must be the head of its lane:
	// no row of the same (machine, record, lane) with a smaller (version, seq)
	// is open. Open is: pending or retry_wait, not cancelled; dead_letter, not
	// cancelled, discarded_at null; delivering, and either not cancelled or
	// lease_until > Now. Claimed rows get state delivering, attempts + 1,
	// lease_token Token and lease_until Until; available_at stays. A cancelled
	// row is never claimed. Only rows whose machine and destination are in Claim.Destinations
	// are considered, and of these only the effects that the Destination names, asked for in
	// states that it names or in none; other rows stay for workers that know them.
	//
	// A claim costs nothing for rows that wait behind others. A due row that is
	// no head may be parked: Claim marks it, and later claims do not look at it.
	// A parked row always has an open row before it in its lane that is not
	// cancelled. When such a row closes, the transaction that closes it unparks
	// the first parked row of the lane. A cancelled row is not parked.
	//
	// A deadline is due if due_at <= Now and its lease_until is null or
	// <= Now. Claimed ones get lease_token and lease_until. Only deadlines of the
	// machines, events and states in Claim.Events are considered.
	//
	// Rows that another worker is claiming at this moment are skipped, not
	// waited for. A row that can't be read (say, someone broke its JSON) is
	// returned with Task.Err, a *CorruptError, and as much of it as could be read.
	//
	// A row that is due in state delivering was cut short: its worker died, or lost its
	// lease. The claim counts that in cut. One whose cut is above 0 before the claim is a
	// suspect: perhaps it ends the process that carries it out. A claim takes at most
	// Claim.Suspects of them. Many suspects do not keep other rows from being claimed, nor
	// the other way round.
	Claim(ctx context.Context, c Claim) ([]Task, error)

	// Settle stores the outcome of a task: [ErrLeaseLost] if its row does not
	// carry the settlement's token any more. See Settlement.
	Settle(ctx context.Context, tx T, s Settlement) error

	// Read answers questions outside of any transaction, in one consistent
	// snapshot a call. Nothing found is an empty page, not an error. A row that
	// can't be read is in the page with its Err.
	Read(ctx context.Context, q Read) (Page, error)

	// Pause stores a pause, in the place of one of the same scope. InTx commits it.
	Pause(ctx context.Context, tx T, p Pause) error

	// Unpause removes the pause of a scope, and reports whether there was one. The commit
	// by InTx ends the Wait of workers.
	Unpause(ctx context.Context, tx T, s Scope) (there bool, err error)

	// Wait returns nil when work may have arrived, at the latest after d. It
	// may return early for no reason. Commits of other processes wake it where
	// the database can tell (LISTEN and NOTIFY). A context that ends returns
	// its error.
	Wait(ctx context.Context, d time.Duration) error
}

// Query asks for one record, for the outcome of idempotency keys, and for what
// has become of a task.
type Query struct {
	Machine         string
	Tables          fsm.Tables
	ID              string     // text form, as the engine's tables hold it
	IDValue         any        // the id as a driver value, for the record's table
	Into            fsm.Record // blank; scanned into and returned as Row.Record
	IdempotencyKeys []string   // idempotency keys to look up, of this machine; mostly none
	Task            *TaskRef   // whether it is still held; nil: not asked
	// OnlyPending asks whether anything else of the record is open in the outbox.
	OnlyPending bool
	// Lock makes other writers of the record wait until the transaction ends. Load
	// waits for theirs.
	Lock bool
}

// TaskRef names a leased row.
type TaskRef struct {
	Kind      TaskKind
	MessageID string       // of an effect
	Deadline  DeadlineKind // of a deadline; machine and record are those around it
	Token     fsm.UUID
}

// Row is what one query found.
type Row struct {
	Record          fsm.Record // Query.Into; nil: no such record
	Version         int64
	EnteredAt       time.Time        // when its state was entered
	IdempotencyKeys []IdempotencyKey // those that exist, in any order, with By and Payload
	// Held: the row of Query.Task is there and carries its token (an effect: in
	// state delivering). Cancelled: it is an effect whose state was left. Both
	// are read in the snapshot of the record or after it, never before.
	Held, Cancelled bool
	// OnlyPending: Query.OnlyPending was set, and no row of the outbox of this record is open
	// but that of Query.Task. It is read as Held is.
	OnlyPending bool
	// Err says that the record can't be read: a *CorruptError. Record is nil.
	Err error
}

// Commit is one accepted event on one record; or, without steps, the end of a
// task or a new arming.
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
	// Last, on the last commit of a Save within InTx, says that the transaction
	// does nothing more: the store may commit in the same round trip. Within a
	// caller's own transaction it means nothing.
	Last bool
	// NoWakeup says that the commit leaves nothing that a worker could claim: nobody
	// has to be told.
	NoWakeup bool
	// ShortLockWait says that others wait for this Save: what it has to wait for itself it
	// is to wait for briefly, and then to fail with ErrConflict. A store that lets one
	// write at a time need not.
	ShortLockWait bool
}
