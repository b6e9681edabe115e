package sqlite

import (
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// outboxColumns are the columns of a message without its lease.
const outboxColumns = `message_id, machine, record_id, version, seq, effect, destination, delivery, work, payload, record_state, correlation, created_at,
	state, attempts, cut, available_at, delivered_at, discarded_at, last_error, resolution, cancelled`

const insertOutbox = "INSERT INTO fsm_outbox (" + outboxColumns + ", lease_token, lease_until, worker) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

func outboxValues(r *store.OutboxMessage) []any {
	l := r.MessageState
	var token, until, worker any
	if r.Lease != nil {
		token, until, worker = r.Lease.Token.String(), instant(r.Lease.Until), null(r.Lease.Worker)
	}
	return []any{
		r.MessageID, r.Machine, r.RecordID, r.Version, r.Seq, r.Effect, r.Destination, string(r.Delivery), r.Work, null(r.Payload),
		null(r.RecordState), null(r.Correlation), instant(r.CreatedAt),
		l.State, l.Attempts, l.Cut, optionalInstant(l.AvailableAt), optionalInstant(l.DeliveredAt), optionalInstant(l.DiscardedAt),
		null(l.LastError), null(l.Resolution), l.Cancelled, token, until, worker,
	}
}

// readOutbox reads outboxColumns. If a column can't be read, it returns a *store.CorruptError and the
// message with the other columns.
func readOutbox(c *cells) (store.OutboxMessage, error) {
	r := store.OutboxMessage{
		MessageID: c.text(), Machine: c.text(), RecordID: c.text(), Version: c.int(), Seq: int(c.int()), Effect: c.text(), Destination: c.text(),
		Delivery: fsm.Delivery(c.text()), Work: c.bool(), Payload: c.json(), RecordState: c.text(), Correlation: c.text(), CreatedAt: c.time(),
		MessageState: store.MessageState{
			State: c.text(), Attempts: c.int(), Cut: c.int(), AvailableAt: c.optionalTime(), DeliveredAt: c.optionalTime(), DiscardedAt: c.optionalTime(),
			LastError: c.text(), Resolution: c.text(), Cancelled: c.bool(),
		},
	}
	if c.err != nil {
		return r, &store.CorruptError{Machine: r.Machine, ID: r.RecordID, Err: c.err}
	}
	return r, nil
}
