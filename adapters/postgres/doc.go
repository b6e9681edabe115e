// Package postgres is the engine's store for a fleet: any number of processes
// share one PostgreSQL database (15 or later). It keeps the engine's tables
// (fsm_outbox, fsm_deadlines, fsm_keys, fsm_schema) beside those of the
// machines, in one schema.
//
// # What it needs
//
// The tables and their triggers are found by the search path. Every connection
// of the pool must therefore have the schema first in its search_path;
// [PoolConfig] sees to it. Migrate needs the right to create tables, functions
// and triggers in that schema, and the schema itself if it is missing. At run
// time SELECT, INSERT, UPDATE and, for fsm_deadlines, DELETE are enough.
//
// # What it guarantees
//
// Transactions are READ COMMITTED. A record's row is compared with the state
// and the version that were read, in the WHERE clause of the UPDATE that
// replaces it, so of two writers one commits and the other gets a conflict.
// Claims skip rows that another worker is claiming and never wait. A transaction of
// the caller's own that is given to FireTx must be READ COMMITTED too: at a higher
// level its snapshot misses what a claim has parked since (see migration 0005).
//
// A connection that breaks while a commit is under way leaves the outcome open:
// an [UnknownOutcomeError]. Firing again with the same idempotency key answers
// it.
//
// # Round trips
//
// A transaction begins with its first write and in the same packet, and what an
// event leads to is one statement or one pipeline of them, which commits: an event
// costs a read and a write. See [Store.Save]. The events of a batch, and the outcomes
// of tasks that end together, are stored by a few statements for all of them.
//
// # PgBouncer
//
// Behind PgBouncer in transaction mode, set DefaultQueryExecMode of the pool's
// ConnConfig to pgx.QueryExecModeCacheDescribe (in a connection string:
// default_query_exec_mode=cache_describe): a prepared statement belongs to one server
// connection. The mode exec does not work, because arrays are sent whose types only
// the server knows. PgBouncer refuses settings at the start of a connection that it does
// not know: set ignore_startup_parameters =
// default_transaction_isolation,enable_seqscan,jit,search_path, and give the role of
// the processes the settings of [PoolConfig] by ALTER ROLE … SET.
//
// LISTEN needs a connection to the server itself. In transaction mode PgBouncer gives
// the server connection to others and no notification arrives; a worker then finds
// work when it polls (engine.Config.PollInterval). To hear of work at once, use a pool
// that connects to the server, or to a PgBouncer database in session mode, in processes
// that call Run. BeforeConnect of the pool applies to the connection that listens too.
//
// # Wake-ups
//
// After a commit that left something to do, the store sends a NOTIFY on the
// channel fsm_work_<schema>, at most once in [Options].NotifyInterval. [Store.Wait]
// listens on a connection of its own. A lost notification delays work until the
// engine polls, no longer. See notify.go for why it is not part of the
// transaction.
package postgres
