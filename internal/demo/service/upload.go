package service

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/generated/upload"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

func uploadRole(o Outside) Role {
	return Role{
		Machine: upload.Define[*sql.Tx](uploadHandlers{o}),
		Open: func(n int, now time.Time) (Opening, error) {
			data := blob(n)
			event := upload.Create{ExpiresAt: now.Add(24 * time.Hour), ExpectedDigest: digest(data), ExpectedLength: int64(len(data))}
			if n%10 == 9 {
				event.ExpiresAt = now.Add(2 * time.Minute)
			}
			return Opening{event, fsm.System()}, nil
		},
		Next: typed(uploadClient{o}.next),
	}
}

// blob is what the client of record n uploads.
func blob(n int) []byte { return fmt.Appendf(nil, "blob %d", n) }

// uploadClient puts parts where the service told it to. Of ten sessions one is
// left to expire, one finds its blob there, one is aborted and one delivers
// something else than it promised.
type uploadClient struct{ out Outside }

func (c uploadClient) next(r *upload.Record, at Point) (Move, error) {
	story, id := at.N%10, r.UploadID.String()
	switch r.State {
	case upload.Initiated:
		switch story {
		case 9:
			return wait(), nil
		case 8:
			return system(upload.FastPathDedupe{BlobExists: true, BlobDigest: r.ExpectedDigest, BlobLength: r.ExpectedLength}), nil
		}
		m := system(upload.StartPartsUpload{SessionValid: true})
		m.Wrong = upload.StartPartsUpload{}
		return m, nil
	case upload.PartsUploading:
		if !c.out.has("s3", "urls/"+id) {
			return wait(), nil // the URLs are on their way
		}
		if story == 7 {
			return system(upload.AbortUpload{Reason: upload.AbortReasonClient}), nil
		}
		data := blob(at.N)
		if story == 6 {
			data = append(data, " and more"...)
		}
		return system(upload.CompleteParts{}), c.out.put("s3", "staging/"+id, data)
	case upload.PendingCommit:
		data, err := c.out.get("s3", "staging/"+id)
		if err != nil {
			return Move{}, err
		}
		return system(upload.CommitUpload{Digest: digest(data), Length: int64(len(data))}), nil
	}
	return untilTerminal(r.State.Terminal()), nil
}

// uploadHandlers keeps the rows of blobs in the transaction of the step and
// the parts in the stand-in for S3.
type uploadHandlers struct{ out Outside }

var _ upload.Handlers[*sql.Tx] = uploadHandlers{}

func (h uploadHandlers) IssuePartURLs(ctx context.Context, d fsm.Dispatch, _ upload.IssuePartURLsEffect) error {
	if err := h.out.call(ctx, "s3", d); err != nil {
		return err
	}
	return h.out.put("s3", "urls/"+d.Record, []byte("staging/"+d.Record))
}

func (h uploadHandlers) InsertBlobRow(ctx context.Context, tx *sql.Tx, d fsm.Dispatch, _ upload.InsertBlobRowEffect) error {
	return note(ctx, tx, d)
}

func (h uploadHandlers) UploadCommitted(ctx context.Context, d fsm.Dispatch, _ upload.UploadCommittedEffect) error {
	return h.out.send(ctx, "outbox", d)
}

func (h uploadHandlers) AuditFailure(ctx context.Context, tx *sql.Tx, d fsm.Dispatch, _ upload.AuditFailureEffect) error {
	return note(ctx, tx, d)
}

func (h uploadHandlers) TombstoneStagingObjects(ctx context.Context, d fsm.Dispatch, _ upload.TombstoneStagingObjectsEffect) error {
	if err := h.out.call(ctx, "s3", d); err != nil {
		return err
	}
	return errors.Join(h.out.remove("s3", "staging/"+d.Record), h.out.remove("s3", "urls/"+d.Record))
}
