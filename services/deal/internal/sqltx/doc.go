// Package sqltx runs statements that PostgreSQL and SQLite both take, in a transaction of either.
// Placeholders are $1, $2 and so on. A time is bound as text in fsm.TimeLayout, and scanned by fsm.Into.
package sqltx
