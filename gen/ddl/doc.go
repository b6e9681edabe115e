// Package ddl turns a machine into the SQL script that creates its tables and
// makes the database refuse what the machine refuses. [Postgres] and [SQLite]
// render the same rules in two dialects; package ddl runs no SQL itself.
//
// # What a script creates
//
// The record table holds one row per record: the id, the state, version,
// last_event (the event that brought the record here), entered_at, a typed
// column per field, created_at and updated_at. The history table holds one row
// per step and only grows. Tables of the spec's `tables` follow. [Order] sorts
// machines so that a table exists before another machine's script refers to
// it.
//
// # How to write a step
//
// In one transaction, first the record, then its history row:
//
//	UPDATE upload_records SET state = ..., version = version + 1, last_event = ...,
//	    entered_at = ..., <fields> = ..., updated_at = ...
//	    WHERE upload_id = ... AND state = ... AND version = ...;
//	INSERT INTO upload_records_history (...) VALUES (...);
//
// A chain of steps repeats both statements for each step, so the triggers see
// every edge. A creation inserts the record with version 1.
//
// # What is refused, and how it says so
//
// Constraints carry the name of their rule: upload_committed_holds,
// upload_state_declared, upload_expected_length_range. Triggers raise a message
// with the prefix "fsmgen: ", the machine, the id and the rule:
//
//	fsmgen: upload 7f...: edge: no transition from initiated on commit_upload to committed
//
// In PostgreSQL the record table has one CHECK besides its keys, upload_rules,
// which asks a function of that name: PostgreSQL would parse the many CHECKs of a
// record again for each statement. The function raises what each of them would,
// under its name and with the SQLSTATE of a CHECK (23514), in the manner of the
// triggers:
//
//	fsmgen: upload 7f...: upload_committed_holds: committed demands blob_digest == $expected_digest, and blob_digest is sha256:0
//
// A rule of a trigger has its own SQLSTATE, and the error's constraint field names
// it (upload_edge):
//
//	FS001  edge       (from, event, to) is no transition of the machine
//	FS002  version    a new record has version 1, a step adds 1
//	FS003  immutable  the id, created_at or a write-once field would change
//	FS004  history    history only grows, and tells what the record says
//	FS005  invariant  a `never`, a `holds` about $from, or a list element
//	FS006  delete     records are never deleted
//	FS007  reference  the row referred to lacks what `where` demands
//	FS008  step       no row of the edge makes this of the record
//
// A step without its history row fails at the end of its transaction: in PostgreSQL
// by a deferred trigger, in SQLite by a deferred foreign key, and where these are off
// the record takes no further step.
//
// SQLite reports SQLITE_CONSTRAINT_TRIGGER. Before 3.47 it raises constant text
// only, so its messages lack the id and name columns where PostgreSQL's have values;
// the hint is a part of them:
//
//	fsmgen: upload: edge: no transition from initiated on NEW.last_event to NEW.state. From there lead ...
//
// The script needs SQLite 3.40, and foreign keys switched on per connection.
//
// # How a step is judged
//
// For each (from, event, to) a column that no row writes is unchanged, and a creation
// leaves it at its default. What a row sets from literals, fields and $now is an
// equality, and a guard over these is judged on the old record overlaid by what the
// event writes. Rows that win where they hold must not hold. Several rows of an edge
// are an OR. $now is updated_at, and so is entered_at if the state is entered.
// [ir.Row.Source] says where the database finds what a step read; a fact that a row
// stores is found where it is stored.
//
// # What SQL can't decide
//
// Of holds and invariants, a clause that reads a param, $now or $actor, or that uses
// matches, is left to the machine: the database never refuses what the machine allows. The script
// says so in a comment where it leaves one out.
package ddl
