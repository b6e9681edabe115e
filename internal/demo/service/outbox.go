package service

import (
	"context"
	"database/sql"
	"time"

	"github.com/fsmgen/fsmgen/generated/outbox"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

type outboxMove = move[outbox.Payload]

func outboxScenario() scenario[outbox.Payload, *outbox.Record] {
	open := func(int, time.Time) (opening[outbox.Payload], error) {
		return opening[outbox.Payload]{event: outbox.Create{Topic: "orders", Payload: fsm.JSON(`{"order":1}`)}}, nil
	}
	return scenario[outbox.Payload, *outbox.Record]{open, nextOfMessage}
}

// nextOfMessage is a relay that carries messages by hand. Of five one meets a
// failure, one meets nothing else, and one loses its worker.
func nextOfMessage(r *outbox.Record, at point) outboxMove {
	variant, token := at.n%5, fsm.UUID{15: byte(r.Attempts + 1), 6: 0x40, 8: 0x80}
	switch r.State {
	case outbox.Pending:
		m := outboxMove{event: outbox.WorkerClaim{Locked: true, LeaseToken: token}}
		m.wrong = outbox.WorkerClaim{LeaseToken: token}
		return m
	case outbox.Delivering:
		held := r.LeaseToken.V
		switch {
		case variant == 4 && r.Attempts == 1:
			return outboxMove{} // for the lease to run out
		case variant == 3, variant == 2 && r.Attempts == 1:
			return outboxMove{event: outbox.HandlerFailure{Token: held, RetryAt: at.now.Add(10 * time.Second), Cause: "refused"}}
		}
		m := outboxMove{event: outbox.HandlerSuccess{Token: held}}
		m.wrong = outbox.HandlerSuccess{Token: fsm.UUID{6: 0x40, 8: 0x80}}
		return m
	case outbox.RetryWait:
		return outboxMove{}
	case outbox.DeadLetter, outbox.Delivered:
	}
	return outboxMove{rest: true}
}

// outboxHandlers keeps the operator queue.
type outboxHandlers struct{}

var _ outbox.Handlers[tx] = outboxHandlers{}

func (outboxHandlers) OperatorQueue(ctx context.Context, tx *sql.Tx, d fsm.Dispatch, _ outbox.OperatorQueueEffect) error {
	return note(ctx, tx, d)
}
