package service

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/generated/wal"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

const maxClaims = 3

func walRole(o Outside) Role {
	return Role{
		Machine: wal.Define[*sql.Tx](walHandlers{o}, wal.Params{MaxAttempts: maxClaims, ClaimTimeout: 4 * time.Minute}),
		Open: func(n int, now time.Time) (Opening, error) {
			event := wal.Discover{Dataset: "goes-16", ObjectURI: fmt.Sprintf("s3://nodd/%d.nc", n), TimeRangeStart: now}
			return Opening{event, ingest()}, o.put("sqs", receipt(n), []byte(event.ObjectURI))
		},
		Next: simple(nextOfUnit),
	}
}

func ingest() fsm.Caller { return wal.ByWorker("ingest-1").Caller() }

// expiredPrefix marks receipt handles that the queue has forgotten.
const expiredPrefix = "expired-"

func receipt(n int) string {
	if n%10 == 5 {
		return fmt.Sprintf("%sreceipt-%d", expiredPrefix, n)
	}
	return fmt.Sprintf("receipt-%d", n)
}

// nextOfUnit ingests. Of five units one fails once, one fails every time and is
// quarantined, and one loses its worker: the claim times out.
func nextOfUnit(r *wal.Record, at Point) Move {
	story := at.N % 5
	switch r.State {
	case wal.Pending:
		return Move{Event: wal.Claim{}, By: ingest()}
	case wal.InProgress:
		switch {
		case story == 4 && r.Attempts == 1:
			return wait()
		case story == 3, story == 2 && r.Attempts == 1:
			return Move{By: ingest(), Event: wal.Fail{
				Attempt: r.Attempts, Permanent: story == 3, LastErrorCode: "unreadable", LastErrorMessage: "the file has no header",
			}}
		}
		done := wal.Succeed{
			Attempt: r.Attempts, ReceiptHandle: receipt(at.N), IntegrityStatus: wal.QualityOk, MetadataStatus: wal.QualityOk,
			StacStatus: wal.StacCreated, ProvenanceStatus: wal.ProvenanceOk,
		}
		stale := done
		stale.Attempt = 0
		return Move{By: ingest(), Event: done, Wrong: stale}
	case wal.Failed:
		if r.Attempts >= maxClaims { // only a service that is slower than its claims comes here
			return Move{By: wal.ByGovernance("policy-1").Caller(), Event: wal.Quarantine{PolicySatisfied: true, Cause: "replays exhausted"}}
		}
		return Move{By: wal.ByReplayer("replay-1").Caller(), Event: wal.Replay{ReplayAllowed: true, ReplayReason: wal.ReplayCodeIncident}}
	case wal.Succeeded, wal.Quarantined:
	}
	return rest()
}

// walHandlers takes messages off the stand-in for SQS.
type walHandlers struct{ out Outside }

var _ wal.Handlers[*sql.Tx] = walHandlers{}

func (h walHandlers) SQSDeleteMessage(ctx context.Context, d fsm.Dispatch, e wal.SQSDeleteMessageEffect) error {
	if strings.HasPrefix(e.ReceiptHandle, expiredPrefix) {
		return never("the queue does not know %s any more", e.ReceiptHandle)
	}
	if err := h.out.call(ctx, "sqs", d); err != nil {
		return err
	}
	return h.out.remove("sqs", e.ReceiptHandle)
}

func (h walHandlers) GovernanceAudit(ctx context.Context, tx *sql.Tx, d fsm.Dispatch, _ wal.GovernanceAuditEffect) error {
	return note(ctx, tx, d)
}
