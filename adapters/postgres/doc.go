// Package postgres implements store.Store with PostgreSQL 15 or later. Any number of processes may
// share a database. The engine's tables (fsm_outbox, fsm_deadlines, fsm_keys, fsm_pauses,
// fsm_forced and fsm_schema) and those of the machines are in one schema.
//
// # What it needs
//
// The store finds tables and triggers by the search path, so every connection of the pool must
// have the schema first in its search_path. [PoolConfig] sets it. Migrate needs the right to
// create tables, functions and triggers in that schema, and to create the schema if it is
// missing. At run time SELECT, INSERT, UPDATE and, for fsm_deadlines and fsm_pauses, DELETE are
// enough.
//
// # What it guarantees
//
// Transactions are READ COMMITTED. The UPDATE of a record has the state and the version that were
// read in its WHERE clause, so of two writers one commits and the other gets a conflict. Claims
// skip rows that another worker is claiming and never wait. A transaction that the caller gives
// to FireTx must be READ COMMITTED too: at a higher level its snapshot does not contain what a
// claim has parked since (see migration 0005).
//
// If a connection breaks during a commit, the outcome is unknown: an [UnknownOutcomeError]. Fire
// again with the same idempotency key to find out.
//
// # Round trips
//
// An event takes two round trips, a read and a write. The transaction begins in the packet of its
// first write, and the last write commits it: see [Store.Save]. The events of a batch, and the
// outcomes of tasks that end together, take a few statements for all of them.
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
// LISTEN needs a connection to the server itself. In transaction mode PgBouncer gives the server
// connection to other clients, and no notification arrives. A worker then finds work when it
// polls (engine.Config.PollInterval). To find it at once, processes that call Run need a pool
// that connects to the server, or to a PgBouncer database in session mode. BeforeConnect of the
// pool also applies to the connection that listens.
//
// # Wake-ups
//
// After a commit that left work, the store sends a NOTIFY on the channel fsm_work_<schema>, at
// most once in [Options].NotifyInterval. [Store.Wait] listens on its own connection. A lost
// notification delays work until the engine polls. notify.go says why the NOTIFY is not part of
// the transaction.
package postgres
