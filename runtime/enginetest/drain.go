package enginetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// mostRounds is how many rounds Drain carries out: a table may lead in a circle.
const mostRounds = 500

// Drain carries out effects and fires deadlines until none is due. It does not move
// the clock: what is due later, such as the repeat of an effect that failed, waits for
// Clock.Advance and another Drain. Drain stops the test if the store fails, or if work
// is still due after 500 rounds, and lists that work.
func Drain(t testing.TB, e *Engine) {
	t.Helper()
	for range mostRounds {
		n, err := e.Step(t.Context())
		if err != nil {
			t.Fatalf("drain: %v", err)
		}
		if n == 0 {
			return
		}
	}
	left, err := e.due(t.Context())
	if err != nil {
		t.Fatalf("drain: %v", err)
	}
	t.Fatalf("after %d rounds there is still work: the table or a handler leads in a circle\n%s", mostRounds, strings.Join(left, "\n"))
}

// due lists the work that is due, a line each.
func (e *Engine) due(ctx context.Context) (lines []string, err error) {
	const query = `
		SELECT machine || ' ' || record_id || ': effect ' || effect || ', ' || state || ', attempts: ' || attempts || coalesce(', last error: ' || last_error, '')
			FROM fsm_outbox WHERE cancelled = 0 AND (state IN ('pending', 'retry_wait') AND available_at <= ?1 OR state = 'delivering')
		UNION ALL
		SELECT machine || ' ' || record_id || ': deadline ' || event FROM fsm_deadlines WHERE due_at <= ?1
		LIMIT 20`
	now := fsm.Instant(e.Clock.Now()).Format(fsm.TimeLayout)
	err = e.Store.InTx(ctx, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, query, now)
		if err != nil {
			return err
		}
		for rows.Next() {
			var line string
			err = errors.Join(err, rows.Scan(&line))
			lines = append(lines, line)
		}
		return errors.Join(err, rows.Err(), rows.Close())
	})
	if err != nil {
		return nil, fmt.Errorf("list the work that is due: %w", err)
	}
	return lines, nil
}
