package facts

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Trace is the row that a handler leaves of an effect that it carries out inside a
// transaction.
type Trace struct {
	Effect
	Message, Correlation string
	Answer               string // the event that an inline effect answers; "" for any other
}

// CreateTraces is the statement that creates the table of traces. The table has no key, so
// that a duplicate row can be seen.
const CreateTraces = `CREATE TABLE traces (machine text NOT NULL, record_id text NOT NULL, version bigint NOT NULL, effect text NOT NULL,
	message_id text NOT NULL, correlation text NOT NULL, answer text NOT NULL)`

// LeaveTrace returns the statement with which a handler leaves a trace of an effect.
func LeaveTrace(d fsm.Dispatch, answer string) string {
	return fmt.Sprintf("INSERT INTO traces (machine, record_id, version, effect, message_id, correlation, answer) VALUES (%s, %s, %d, %s, %s, %s, %s)",
		quote(d.Machine), quote(d.Record), d.Version, quote(d.Effect), quote(d.ID), quote(d.Correlation), quote(answer))
}

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// Traces reads the traces, by machine, record, version and effect.
func Traces(ctx context.Context, db *sql.DB) ([]Trace, error) {
	return list(ctx, db, `SELECT machine, record_id, version, effect, message_id, correlation, answer FROM traces
		ORDER BY machine, record_id, version, effect`, func(r *Row) Trace {
		return Trace{
			Effect:  Effect{Machine: r.Text(), Record: r.Text(), Version: r.Int(), Name: r.Text()},
			Message: r.Text(), Correlation: r.Text(), Answer: r.Text(),
		}
	})
}
