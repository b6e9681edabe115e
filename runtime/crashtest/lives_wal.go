package crashtest

import (
	"time"

	"github.com/fsmgen/fsmgen/generated/wal"
)

var walKinds = []Kind{Create, Fire, Chain, Deadline, Deliver, Retry, Bury, Requeue, Idempotent, InTx}

var walParams = wal.Params{MaxAttempts: 2, ClaimTimeout: 3 * time.Hour}

func walLives() []life {
	worker, replayer := wal.ByWorker("w-1").Caller(), wal.ByReplayer("r-1").Caller()
	discover := func(tag string) step {
		return create("wal", wal.Discover{Dataset: "d", ObjectURI: tag, TimeRangeStart: epoch}, worker)
	}
	claim := fire("wal", wal.Claim{}, worker)
	replay := fire("wal", wal.Replay{ReplayAllowed: true, ReplayReason: wal.ReplayCodeIncident}, replayer)
	quarantine := func(cause string) step {
		return fire("wal", wal.Quarantine{PolicySatisfied: true, Cause: cause}, wal.ByGovernance("g-1").Caller())
	}
	release := fire("wal", wal.Release{OverrideReason: "looked at", ChangeRecord: "c-1"}, wal.ByOperator("o-1").Caller())
	succeed := func(attempt int64) step {
		return fire("wal", wal.Succeed{
			Attempt: attempt, ReceiptHandle: "h", IntegrityStatus: wal.QualityOk, MetadataStatus: wal.QualitySuspect,
			StacStatus: wal.StacCreated, ProvenanceStatus: wal.ProvenanceOk,
		}, worker)
	}
	fail := func(attempt int64, code string, permanent bool) step {
		return fire("wal", wal.Fail{Attempt: attempt, Permanent: permanent, LastErrorCode: code, LastErrorMessage: "m"}, worker)
	}
	return []life{
		{"second attempt", func(tag string) script {
			return script{
				steps:   []step{discover(tag), claim, fail(1, "e", false), replay, claim, succeed(2)},
				replies: map[string][]reply{"wal.sqs.delete_message": failsOnce(nil)},
			}
		}},
		{"stale, quarantined, released", func(tag string) script {
			return script{
				steps:   []step{discover(tag), claim, wait(4 * time.Hour), quarantine("why"), release, claim, succeed(2), mend()},
				replies: map[string][]reply{"wal.sqs.delete_message": stuck},
			}
		}},
		{"hard failure", func(tag string) script {
			return script{steps: []step{discover(tag), claim, fail(1, "governance_hard_fail", false)}}
		}},
		{"failed for good", func(tag string) script {
			return script{steps: []step{discover(tag), claim, fail(1, "e", true), replay, claim, fail(2, "e", true)}}
		}},
		{"quarantined at once", func(tag string) script {
			return script{steps: []step{discover(tag), quarantine("why"), release, quarantine("again"), release, quarantine("governance_hard_fail")}}
		}},
	}
}
