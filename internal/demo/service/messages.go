package service

import (
	"context"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/generated/outbox"
	"github.com/fsmgen/fsmgen/generated/wal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// outboxScript is a relay that carries messages by hand. Of five one meets a failure, one meets
// nothing else, and one loses its worker.
func outboxScript() script[outbox.Payload, *outbox.Record] {
	return script[outbox.Payload, *outbox.Record]{
		open: func(int, time.Time) (outbox.Payload, engine.Option) {
			return outbox.Create{Topic: "orders", Payload: fsm.JSON(`{"order":1}`)}, nil
		},
		moves: func(r *outbox.Record, at point) []move[outbox.Payload] {
			n, first, held := at.n%5, r.Attempts == 1, r.LeaseToken.V
			token, foreign := fsm.UUID{15: byte(r.Attempts + 1), 6: 0x40, 8: 0x80}, fsm.UUID{6: 0x40, 8: 0x80}
			failure := outbox.HandlerFailure{Token: held, RetryAt: at.now.Add(10 * time.Second), Cause: "refused"}
			return []move[outbox.Payload]{
				{outbox.Pending, always, nil, outbox.WorkerClaim{Locked: true, LeaseToken: token}, outbox.WorkerClaim{LeaseToken: token}},
				{outbox.Delivering, n == 4 && first, nil, nil, nil}, // the lease runs out
				{outbox.Delivering, n == 3 || n == 2 && first, nil, failure, nil},
				{outbox.Delivering, always, nil, outbox.HandlerSuccess{Token: held}, outbox.HandlerSuccess{Token: foreign}},
			}
		},
		rest: []fmt.Stringer{outbox.DeadLetter},
	}
}

const maxClaims = 3

// walScript ingests. Of five units one fails once, one fails every time and is quarantined, and one
// loses its worker: the claim times out. Of ten the queue has forgotten the receipt of one.
func walScript() script[wal.Payload, *wal.Record] {
	ingest, governance, replayer := wal.ByWorker("ingest-1"), wal.ByGovernance("policy-1"), wal.ByReplayer("replay-1")
	return script[wal.Payload, *wal.Record]{
		open: func(n int, now time.Time) (wal.Payload, engine.Option) {
			return wal.Discover{Dataset: "goes-16", ObjectURI: fmt.Sprintf("s3://nodd/%d.nc", n), TimeRangeStart: now}, ingest
		},
		moves: func(r *wal.Record, at point) []move[wal.Payload] {
			n, first := at.n%5, r.Attempts == 1
			failure := wal.Fail{Attempt: r.Attempts, Permanent: n == 3, LastErrorCode: "unreadable", LastErrorMessage: "the file has no header"}
			success := func(attempt int64) wal.Payload {
				receipt := fmt.Sprintf("receipt-%d", at.n)
				if at.n%10 == 5 {
					receipt = "expired-" + receipt
				}
				return wal.Succeed{
					Attempt: attempt, ReceiptHandle: receipt, IntegrityStatus: wal.QualityOk, MetadataStatus: wal.QualityOk,
					StacStatus: wal.StacCreated, ProvenanceStatus: wal.ProvenanceOk,
				}
			}
			return []move[wal.Payload]{
				{wal.Pending, always, ingest, wal.Claim{}, nil},
				{wal.InProgress, n == 4 && first, nil, nil, nil},
				{wal.InProgress, n == 3 || n == 2 && first, ingest, failure, nil},
				{wal.InProgress, always, ingest, success(r.Attempts), success(0)},
				// Only a service that is slower than its claims comes here.
				{wal.Failed, r.Attempts >= maxClaims, governance, wal.Quarantine{PolicySatisfied: true, Cause: "replays exhausted"}, nil},
				{wal.Failed, always, replayer, wal.Replay{ReplayAllowed: true, ReplayReason: wal.ReplayCodeIncident}, nil},
			}
		},
		rest: []fmt.Stringer{wal.Quarantined},
	}
}

func walAnswer(_ context.Context, _ Outside, d fsm.Dispatch) (fsm.Payload, error) {
	if d.Effect == "sqs.delete_message" && mentions(d, "expired-") {
		return nil, never("the queue does not know the receipt any more")
	}
	return nil, nil
}
