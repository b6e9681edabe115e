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

type walMove = move[wal.Payload]

func walScenario(o Outside) scenario[wal.Payload, *wal.Record] {
	open := func(n int, now time.Time) (opening[wal.Payload], error) {
		event := wal.Discover{Dataset: "goes-16", ObjectURI: fmt.Sprintf("s3://nodd/%d.nc", n), TimeRangeStart: now}
		return opening[wal.Payload]{event, ingest()}, o.put("sqs", receipt(n), []byte(event.ObjectURI))
	}
	return scenario[wal.Payload, *wal.Record]{open, nextOfUnit}
}

func ingest() wal.Actor { return wal.ByWorker("ingest-1") }

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
func nextOfUnit(r *wal.Record, at point) walMove {
	variant := at.n % 5
	switch r.State {
	case wal.Pending:
		return walMove{event: wal.Claim{}, by: ingest()}
	case wal.InProgress:
		switch {
		case variant == 4 && r.Attempts == 1:
			return walMove{}
		case variant == 3, variant == 2 && r.Attempts == 1:
			return walMove{by: ingest(), event: wal.Fail{
				Attempt: r.Attempts, Permanent: variant == 3, LastErrorCode: "unreadable", LastErrorMessage: "the file has no header",
			}}
		}
		done := wal.Succeed{
			Attempt: r.Attempts, ReceiptHandle: receipt(at.n), IntegrityStatus: wal.QualityOk, MetadataStatus: wal.QualityOk,
			StacStatus: wal.StacCreated, ProvenanceStatus: wal.ProvenanceOk,
		}
		stale := done
		stale.Attempt = 0
		return walMove{by: ingest(), event: done, wrong: stale}
	case wal.Failed:
		if r.Attempts >= maxClaims { // only a service that is slower than its claims comes here
			return walMove{by: wal.ByGovernance("policy-1"), event: wal.Quarantine{PolicySatisfied: true, Cause: "replays exhausted"}}
		}
		return walMove{by: wal.ByReplayer("replay-1"), event: wal.Replay{ReplayAllowed: true, ReplayReason: wal.ReplayCodeIncident}}
	case wal.Succeeded, wal.Quarantined:
	}
	return walMove{rest: true}
}

// walHandlers takes messages off the stand-in for SQS.
type walHandlers struct{ out Outside }

var _ wal.Handlers[tx] = walHandlers{}

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
