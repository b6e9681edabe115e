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

func gcRole(o Outside) Role {
	return Role{
		Machine: gc.Define[*sql.Tx](collector{o}, gc.Params{Retention: time.Minute}),
		Open: func(n int, _ time.Time) (Opening, error) {
			name := digest(fmt.Append(nil, "garbage ", n))
			if n%10 == 2 {
				name = lockedPrefix + name
			}
			return Opening{gc.Create{Digest: name}, fsm.System()}, o.put("s3", "blobs/"+name, []byte(name))
		},
		Next: simple(nextOfBlob),
	}
}

// lockedPrefix marks objects that the storage does not let go of.
const lockedPrefix = "locked-"

// nextOfBlob deletes, waits for the retention and collects, with a mark and a
// sweep. Of five blobs one is restored in time and one is found reachable.
func nextOfBlob(r *gc.Record, at Point) Move {
	run := fsm.UUID{15: byte(at.N), 6: 0x40, 8: 0x80}
	switch r.State {
	case gc.Live:
		if at.Version > 1 {
			return rest()
		}
		return system(gc.DeleteRequest{Authorized: true})
	case gc.Tombstoned:
		switch early := at.Now.Before(r.RetentionUntil.V); {
		case early && at.N%5 == 4:
			return system(gc.RestoreRequest{Authorized: true})
		case early:
			return Move{Wrong: gc.RestoreRequest{}, By: fsm.System()}
		}
		return system(gc.RetentionElapsed{})
	case gc.EligibleForGC:
		switch {
		case at.N%5 == 3:
			return system(gc.GCMark{Reachable: true})
		case r.MarkRun.IsSet:
			return system(gc.GCSweep{Run: run})
		case r.MarkingRun.IsSet:
			return system(gc.GCMarkCompleted{Run: run})
		}
		return system(gc.GCMarkStarted{Run: run})
	}
	return untilTerminal(r.State.Terminal())
}

// collector removes objects from the stand-in for S3.
type collector struct{ out Outside }

var _ gc.Handlers[*sql.Tx] = collector{}

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
