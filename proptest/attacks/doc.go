// Package attacks is a suite of attacks on a database that an engine uses: writes
// in SQL that no engine sends. Each one has to be refused, or is listed as free
// with the reason.
//
// An attack is text: statements for both databases, or for one of them. It runs in a
// transaction of its own on a database whose records, history, messages and
// deadlines were written by an engine ([Prepare]). Nothing of it stays. A refusal
// counts only if a rule of the schema, or a missing privilege, is the reason; a
// statement that fails for any other reason fails the test, and so does one that
// changes nothing.
//
// The files record.go, history.go, messages.go and file.go list the attacks by what
// they are on. Out of scope are the owner of a PostgreSQL schema and, in SQLite,
// DDL and PRAGMA writable_schema: who may change the rules may do everything.
package attacks
