package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

const (
	settleEffect = `UPDATE fsm_outbox
		SET state = ?, attempts = ?, available_at = ?, delivered_at = ?, discarded_at = ?, last_error = ?, resolution = ?,
			lease_token = NULL, lease_until = NULL, worker = NULL`
	ofWorker   = " WHERE message_id = ? AND state = 'delivering' AND lease_token = ?"
	byOperator = ", cut = ?, parked = 0 WHERE message_id = ? AND state = ? AND lease_token IS NULL AND cancelled = 0"

	renewEffect    = "UPDATE fsm_outbox SET lease_until = ? WHERE message_id = ? AND state = 'delivering' AND lease_token = ? AND (NOT cancelled OR lease_until > ?)"
	renewDeadline  = "UPDATE fsm_deadlines SET lease_until = ? WHERE machine = ? AND record_id = ? AND kind = ? AND lease_token = ?"
	settleDeadline = "DELETE FROM fsm_deadlines WHERE machine = ? AND record_id = ? AND kind = ? AND lease_token = ?"
)

// Settle implements store.Store. It returns an error that wraps store.ErrLeaseLost if the row does
// not have the token of the settlement, and store.ErrConflict if an operator settles a message
// that has changed. It returns a *store.RefusedError if the database refuses the outcome.
func (s *Store) Settle(ctx context.Context, tx *sql.Tx, t store.Settlement) error {
	if t.Renew.IsZero() {
		s.work.Store(true) // the next message of its ordering key may be due
	}
	return settle(ctx, tx, t)
}

func settle(ctx context.Context, tx *sql.Tx, t store.Settlement) error {
	query, args, lost := settlement(t)
	result, err := tx.ExecContext(ctx, query, args...)
	if err != nil {
		return settleFailed(ctx, t, err)
	}
	n, err := result.RowsAffected()
	if err != nil {
		return settleFailed(ctx, t, err)
	}
	if n == 0 {
		return fmt.Errorf("settle %s: %w", taskName(t), lost)
	}
	return nil
}

// settlement returns the statement of a settlement, and the error if it changes no row.
func settlement(t store.Settlement) (query string, args []any, lost error) {
	token := t.Token.String()
	if t.Kind == store.TaskDeadline {
		args = []any{t.Machine, t.RecordID, string(t.Deadline), token}
		if !t.Renew.IsZero() {
			return renewDeadline, append([]any{instant(t.Renew)}, args...), store.ErrLeaseLost
		}
		return settleDeadline, args, store.ErrLeaseLost
	}
	if !t.Renew.IsZero() {
		return renewEffect, []any{instant(t.Renew), t.MessageID, token, instant(t.Now)}, store.ErrLeaseLost
	}
	l := t.MessageState
	args = []any{
		l.State, l.Attempts, optionalInstant(l.AvailableAt), optionalInstant(l.DeliveredAt), optionalInstant(l.DiscardedAt),
		null(l.LastError), null(l.Resolution),
	}
	if t.Token == (fsm.UUID{}) {
		return settleEffect + byOperator, append(args, l.Cut, t.MessageID, t.From), store.ErrConflict
	}
	return settleEffect + ofWorker, append(args, t.MessageID, token), store.ErrLeaseLost
}

func taskName(t store.Settlement) string {
	if t.Kind == store.TaskDeadline {
		return fmt.Sprintf("deadline %s of %s %s", t.Deadline, t.Machine, t.RecordID)
	}
	return "effect " + t.MessageID
}

func settleFailed(ctx context.Context, t store.Settlement, err error) error {
	if refused(err) {
		return &store.RefusedError{Machine: t.Machine, ID: taskName(t), Err: err}
	}
	return wrap("settle "+taskName(t), cause(ctx, err))
}
