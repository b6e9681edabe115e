package service

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/generated/gc"
	"github.com/fsmgen/fsmgen/generated/publish"
	"github.com/fsmgen/fsmgen/generated/upload"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// digest names content.
func digest(format string, args ...any) string {
	sum := sha256.Sum256(fmt.Appendf(nil, format, args...))
	return hex.EncodeToString(sum[:])
}

// length is the size of every blob.
const length = 4096

// uploadScript uploads parts once their URLs are issued. Of ten sessions one is left to expire, one
// finds its blob there, one is aborted and one delivers something else than it announced.
func uploadScript(o Outside) script[upload.Payload, *upload.Record] {
	return script[upload.Payload, *upload.Record]{
		open: func(n int, now time.Time) (upload.Payload, engine.Option) {
			expires := now.Add(24 * time.Hour)
			if n%10 == 9 {
				expires = now.Add(2 * time.Minute)
			}
			return upload.Create{ExpiresAt: expires, ExpectedDigest: digest("blob %d", n), ExpectedLength: length}, nil
		},
		moves: func(r *upload.Record, at point) []move[upload.Payload] {
			n, issued := at.n%10, o.has("issue_part_urls", r.UploadID.String())
			there := upload.FastPathDedupe{BlobExists: true, BlobDigest: r.ExpectedDigest, BlobLength: r.ExpectedLength}
			return []move[upload.Payload]{
				{upload.Initiated, n == 9, nil, nil, nil},
				{upload.Initiated, n == 8, nil, there, nil},
				{upload.Initiated, always, nil, upload.StartPartsUpload{SessionValid: true}, upload.StartPartsUpload{}},
				{upload.PartsUploading, issued && n == 7, nil, upload.AbortUpload{Reason: upload.AbortReasonClient}, nil},
				{upload.PartsUploading, issued, nil, upload.CompleteParts{}, nil},
				{upload.PendingCommit, n == 6, nil, upload.CommitUpload{Digest: digest("another blob"), Length: length}, nil},
				{upload.PendingCommit, always, nil, upload.CommitUpload{Digest: r.ExpectedDigest, Length: length}, nil},
			}
		},
	}
}

// publishScript publishes; every fifth version is quarantined first, every second one tombstoned,
// and half of those restored.
func publishScript() script[publish.Payload, *publish.Record] {
	return script[publish.Payload, *publish.Record]{
		open: func(int, time.Time) (publish.Payload, engine.Option) { return publish.Create{}, nil },
		moves: func(_ *publish.Record, at point) []move[publish.Payload] {
			request := func(p publish.Policy) publish.Payload {
				return publish.PublishVersion{Policy: p, Digest: digest("manifest %d", at.n)}
			}
			tombstone := publish.TombstoneVersion{Authorized: true, RetentionUntil: fsm.Some(at.now.Add(48 * time.Hour))}
			return []move[publish.Payload]{
				{publish.Draft, at.n%5 == 4 && at.version == 1, nil, request(publish.PolicyQuarantine), nil},
				{publish.Draft, always, nil, request(publish.PolicyAllow), request(publish.PolicyDeny)},
				{publish.Published, at.n%2 == 0 && at.version < 4, nil, tombstone, nil},
				{publish.Tombstoned, at.n%4 == 0, nil, publish.RestoreVersion{Policy: publish.PolicyAllow}, nil},
			}
		},
		rest: []fmt.Stringer{publish.Published, publish.Tombstoned},
	}
}

// gcScript deletes, waits for the retention and collects, with a mark and a sweep. Of five blobs one
// is restored in time and one is found reachable. Of ten the storage does not let go of one.
func gcScript() script[gc.Payload, *gc.Record] {
	return script[gc.Payload, *gc.Record]{
		open: func(n int, _ time.Time) (gc.Payload, engine.Option) {
			if n%10 == 2 {
				return gc.Create{Digest: "locked-" + digest("garbage %d", n)}, nil
			}
			return gc.Create{Digest: digest("garbage %d", n)}, nil
		},
		moves: func(r *gc.Record, at point) []move[gc.Payload] {
			run, early := fsm.UUID{15: byte(at.n), 6: 0x40, 8: 0x80}, at.now.Before(r.RetentionUntil.V)
			return []move[gc.Payload]{
				{gc.Live, at.version == 1, nil, gc.DeleteRequest{Authorized: true}, nil},
				{gc.Tombstoned, early && at.n%5 == 4, nil, gc.RestoreRequest{Authorized: true}, nil},
				{gc.Tombstoned, early, nil, nil, gc.RestoreRequest{}},
				{gc.Tombstoned, always, nil, gc.RetentionElapsed{}, nil},
				{gc.EligibleForGC, at.n%5 == 3, nil, gc.GCMark{Reachable: true}, nil},
				{gc.EligibleForGC, r.MarkRun.IsSet, nil, gc.GCSweep{Run: run}, nil},
				{gc.EligibleForGC, r.MarkingRun.IsSet, nil, gc.GCMarkCompleted{Run: run}, nil},
				{gc.EligibleForGC, always, nil, gc.GCMarkStarted{Run: run}, nil},
			}
		},
		rest: []fmt.Stringer{gc.Live},
	}
}

func gcAnswer(_ context.Context, _ Outside, d fsm.Dispatch) (fsm.Payload, error) {
	if d.Effect == "delete_object_blob" && mentions(d, "locked-") {
		return nil, never("the object is under a legal hold")
	}
	return nil, nil
}
