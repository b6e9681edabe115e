package service

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/generated/gc"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

type gcMove = move[gc.Payload]

func gcScenario(o Outside) scenario[gc.Payload, *gc.Record] {
	open := func(n int, _ time.Time) (opening[gc.Payload], error) {
		name := digest(fmt.Append(nil, "garbage ", n))
		if n%10 == 2 {
			name = lockedPrefix + name
		}
		return opening[gc.Payload]{event: gc.Create{Digest: name}}, o.put("s3", "blobs/"+name, []byte(name))
	}
	return scenario[gc.Payload, *gc.Record]{open, nextOfBlob}
}

// lockedPrefix marks objects that the storage does not let go of.
const lockedPrefix = "locked-"

// nextOfBlob deletes, waits for the retention and collects, with a mark and a
// sweep. Of five blobs one is restored in time and one is found reachable.
func nextOfBlob(r *gc.Record, at point) gcMove {
	run := fsm.UUID{15: byte(at.n), 6: 0x40, 8: 0x80}
	switch r.State {
	case gc.Live:
		if at.version > 1 {
			return gcMove{rest: true}
		}
		return gcMove{event: gc.DeleteRequest{Authorized: true}}
	case gc.Tombstoned:
		switch early := at.now.Before(r.RetentionUntil.V); {
		case early && at.n%5 == 4:
			return gcMove{event: gc.RestoreRequest{Authorized: true}}
		case early:
			return gcMove{wrong: gc.RestoreRequest{}}
		}
		return gcMove{event: gc.RetentionElapsed{}}
	case gc.EligibleForGC:
		switch {
		case at.n%5 == 3:
			return gcMove{event: gc.GCMark{Reachable: true}}
		case r.MarkRun.IsSet:
			return gcMove{event: gc.GCSweep{Run: run}}
		case r.MarkingRun.IsSet:
			return gcMove{event: gc.GCMarkCompleted{Run: run}}
		}
		return gcMove{event: gc.GCMarkStarted{Run: run}}
	}
	return gcMove{rest: r.State.Terminal()}
}

// collector removes objects from the stand-in for S3.
type collector struct{ out Outside }

var _ gc.Handlers[tx] = collector{}

func (h collector) MarkCandidate(ctx context.Context, tx *sql.Tx, d fsm.Dispatch, _ gc.MarkCandidateEffect) error {
	return note(ctx, tx, d)
}

func (h collector) ClearCandidate(ctx context.Context, tx *sql.Tx, d fsm.Dispatch, _ gc.ClearCandidateEffect) error {
	return note(ctx, tx, d)
}

func (h collector) DeleteObjectBlob(ctx context.Context, d fsm.Dispatch, e gc.DeleteObjectBlobEffect) error {
	if strings.HasPrefix(e.Digest, lockedPrefix) {
		return never("the object is under a legal hold")
	}
	if err := h.out.call(ctx, "s3", d); err != nil {
		return err
	}
	return h.out.remove("s3", "blobs/"+e.Digest)
}
