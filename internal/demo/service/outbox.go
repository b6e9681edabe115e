package service

import (
	"context"
	"database/sql"
	"time"

	"github.com/fsmgen/fsmgen/generated/outbox"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

func outboxRole() Role {
	return Role{
		Machine: outbox.Define[*sql.Tx](outboxHandlers{}, outbox.Params{MaxAttempts: 3, Lease: time.Minute}),
		Open: func(int, time.Time) (Opening, error) {
			return Opening{outbox.Create{Topic: "orders", Payload: fsm.JSON(`{"order":1}`)}, fsm.System()}, nil
		},
		Next: simple(nextOfMessage),
	}
}

// nextOfMessage is a relay that carries messages by hand. Of five one meets a
// failure, one meets nothing else, and one loses its worker.
func nextOfMessage(r *outbox.Record, at Point) Move {
	story, token := at.N%5, fsm.UUID{15: byte(r.Attempts + 1), 6: 0x40, 8: 0x80}
	switch r.State {
	case outbox.Pending:
		m := system(outbox.WorkerClaim{Locked: true, LeaseToken: token})
		m.Wrong = outbox.WorkerClaim{LeaseToken: token}
		return m
	case outbox.Delivering:
		held := r.LeaseToken.V
		switch {
		case story == 4 && r.Attempts == 1:
			return wait() // for the lease to run out
		case story == 3, story == 2 && r.Attempts == 1:
			return system(outbox.HandlerFailure{Token: held, RetryAt: at.Now.Add(10 * time.Second), Cause: "refused"})
		}
		m := system(outbox.HandlerSuccess{Token: held})
		m.Wrong = outbox.HandlerSuccess{Token: fsm.UUID{6: 0x40, 8: 0x80}}
		return m
	case outbox.RetryWait:
		return wait()
	case outbox.DeadLetter, outbox.Delivered:
	}
	return rest()
}

// outboxHandlers keeps the operator queue.
type outboxHandlers struct{}

var _ outbox.Handlers[*sql.Tx] = outboxHandlers{}

func (outboxHandlers) OperatorQueue(ctx context.Context, tx *sql.Tx, d fsm.Dispatch, _ outbox.OperatorQueueEffect) error {
	return note(ctx, tx, d)
}
