package crashtest

import (
	"time"

	"github.com/fsmgen/fsmgen/generated/gc"
	"github.com/fsmgen/fsmgen/generated/outbox"
	"github.com/fsmgen/fsmgen/generated/publish"
	"github.com/fsmgen/fsmgen/generated/upload"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Lives of the machines of document 000.

var system = fsm.System()

var uploadKinds = []Kind{Create, Fire, Deadline, Deliver, Retry, Bury, Requeue, Idempotent, Keyed, InTx}

func uploadLives() []life {
	session := func(tag string) step {
		return create("upload", upload.Create{ExpiresAt: epoch.AddDate(0, 0, 1), ExpectedDigest: tag, ExpectedLength: 9}, system)
	}
	begin := fire("upload", upload.StartPartsUpload{SessionValid: true}, system)
	complete := fire("upload", upload.CompleteParts{}, system)
	abort := fire("upload", upload.AbortUpload{Reason: upload.AbortReasonClient}, system)
	return []life{
		{"commit", func(tag string) script {
			return script{
				steps:   []step{session(tag), begin, complete, fire("upload", upload.CommitUpload{Digest: tag, Length: 9}, system)},
				replies: map[string][]reply{"upload.issue_part_urls": failsOnce(nil), "upload.upload.committed": failsOnce(nil)},
			}
		}},
		{"mismatch", func(tag string) script {
			return script{
				steps:   []step{session(tag), begin, complete, fire("upload", upload.CommitUpload{Digest: "x", Length: 9}, system), mend()},
				replies: map[string][]reply{"upload.tombstone_staging_objects": stuck},
			}
		}},
		{"expired", func(tag string) script {
			return script{steps: []step{session(tag), begin, wait(25 * time.Hour)}}
		}},
		{"expired before the parts", func(tag string) script {
			return script{steps: []step{session(tag), wait(25 * time.Hour)}}
		}},
		{"expired before the commit", func(tag string) script {
			return script{steps: []step{session(tag), begin, complete, wait(25 * time.Hour)}}
		}},
		{"dedupe", func(tag string) script {
			return script{steps: []step{session(tag), fire("upload", upload.FastPathDedupe{BlobExists: true, BlobDigest: tag, BlobLength: 9}, system)}}
		}},
		{"abort at once", func(tag string) script { return script{steps: []step{session(tag), abort}} }},
		{"abort among parts", func(tag string) script { return script{steps: []step{session(tag), begin, abort}} }},
		{"abort before the commit", func(tag string) script { return script{steps: []step{session(tag), begin, complete, abort}} }},
	}
}

var publishKinds = []Kind{Create, Fire, Deliver, Retry, Bury, Requeue, Keyed, InTx}

func publishLives() []life {
	version := create("publish", publish.Create{}, system)
	allow := fire("publish", publish.PublishVersion{Policy: publish.PolicyAllow, Digest: "d"}, system)
	tombstone := fire("publish", publish.TombstoneVersion{Authorized: true, RetentionUntil: fsm.Some(epoch.AddDate(1, 0, 0))}, system)
	return []life{
		{"there and back", func(string) script {
			quarantine := fire("publish", publish.PublishVersion{Policy: publish.PolicyQuarantine, Digest: "d"}, system)
			restore := fire("publish", publish.RestoreVersion{Policy: publish.PolicyAllow}, system)
			return script{
				steps:   []step{version, quarantine, quarantine, allow, tombstone, restore, tombstone},
				replies: map[string][]reply{"publish.artifact.published": failsOnce(nil)},
			}
		}},
		{"a blocked lane", func(string) script {
			return script{
				steps:   []step{version, allow, tombstone, mend()},
				replies: map[string][]reply{"publish.artifact.published": stuck},
			}
		}},
	}
}

var outboxKinds = []Kind{Create, Fire, Deadline, InTx}

var outboxParams = outbox.Params{MaxAttempts: 2, Lease: 3 * time.Hour}

func outboxLives() []life {
	message := create("outbox", outbox.Create{Topic: "t", Payload: `{"a":1}`}, system)
	first, second := idOf("first", "token"), idOf("second", "token")
	claim := func(token fsm.UUID) step {
		return fire("outbox", outbox.WorkerClaim{Locked: true, LeaseToken: token}, system)
	}
	fail := func(token fsm.UUID) step {
		return fire("outbox", outbox.HandlerFailure{Token: token, RetryAt: epoch.AddDate(0, 0, 1), Cause: "down"}, system)
	}
	return []life{
		{"second try", func(string) script {
			return script{steps: []step{message, claim(first), fail(first), wait(25 * time.Hour), claim(second), fire("outbox", outbox.HandlerSuccess{Token: second}, system)}}
		}},
		{"given up and requeued", func(string) script {
			return script{steps: []step{
				message, claim(first), wait(4 * time.Hour), claim(second), fail(second),
				fire("outbox", outbox.Requeue{Resolution: "again"}, system), claim(first), fire("outbox", outbox.HandlerSuccess{Token: first}, system),
			}}
		}},
		{"lost and discarded", func(string) script {
			return script{steps: []step{
				message, claim(first), wait(4 * time.Hour), claim(second), wait(4 * time.Hour),
				fire("outbox", outbox.Discard{Resolution: "enough"}, system),
			}}
		}},
	}
}

var gcKinds = []Kind{Create, Fire, Deliver, Retry, Bury, Requeue, Idempotent, InTx}

func gcLives() []life {
	blob := func(tag string) step { return create("gc", gc.Create{Digest: tag}, system) }
	remove := fire("gc", gc.DeleteRequest{Authorized: true}, system)
	elapsed := fire("gc", gc.RetentionElapsed{}, system)
	month := wait(31 * 24 * time.Hour)
	run := idOf("run", "gc")
	started, completed := fire("gc", gc.GCMarkStarted{Run: run}, system), fire("gc", gc.GCMarkCompleted{Run: run}, system)
	sweep := fire("gc", gc.GCSweep{Run: run}, system)
	return []life{
		{"swept in the end", func(tag string) script {
			return script{
				steps: []step{
					blob(tag), remove, fire("gc", gc.RestoreRequest{Authorized: true}, system), remove, month, elapsed,
					started, fire("gc", gc.GCMark{Reachable: true}, system), remove, month, elapsed, started, completed, sweep,
				},
				replies: map[string][]reply{"gc.delete_object_blob": failsOnce(nil)},
			}
		}},
		{"a storage that is down", func(tag string) script {
			return script{
				steps:   []step{blob(tag), remove, month, elapsed, started, completed, sweep, mend()},
				replies: map[string][]reply{"gc.delete_object_blob": stuck},
			}
		}},
	}
}
