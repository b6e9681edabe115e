package service

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/generated/upload"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

type uploadMove = move[upload.Payload]

func uploadScenario(o Outside) scenario[upload.Payload, *upload.Record] {
	open := func(n int, now time.Time) (opening[upload.Payload], error) {
		data := blob(n)
		event := upload.Create{ExpiresAt: now.Add(24 * time.Hour), ExpectedDigest: digest(data), ExpectedLength: int64(len(data))}
		if n%10 == 9 {
			event.ExpiresAt = now.Add(2 * time.Minute)
		}
		return opening[upload.Payload]{event: event}, nil
	}
	issued := func(r *upload.Record) bool { return o.has("s3", "urls/"+r.UploadID.String()) }
	return scenario[upload.Payload, *upload.Record]{open, func(r *upload.Record, at point) uploadMove { return nextOfUpload(r, at.n, issued(r)) }}
}

// blob is what the client of record n uploads.
func blob(n int) []byte { return fmt.Appendf(nil, "blob %d", n) }

// nextOfUpload uploads parts once their URLs are issued. Of ten sessions one is left to expire, one
// finds its blob there, one is aborted and one delivers something else than it announced.
func nextOfUpload(r *upload.Record, n int, issued bool) uploadMove {
	switch variant := n % 10; {
	case r.State == upload.Initiated && variant == 9:
	case r.State == upload.Initiated && variant == 8:
		return uploadMove{event: upload.FastPathDedupe{BlobExists: true, BlobDigest: r.ExpectedDigest, BlobLength: r.ExpectedLength}}
	case r.State == upload.Initiated:
		return uploadMove{event: upload.StartPartsUpload{SessionValid: true}, wrong: upload.StartPartsUpload{}}
	case r.State == upload.PartsUploading && issued && variant == 7:
		return uploadMove{event: upload.AbortUpload{Reason: upload.AbortReasonClient}}
	case r.State == upload.PartsUploading && issued:
		return uploadMove{event: upload.CompleteParts{}}
	case r.State == upload.PendingCommit:
		data := blob(n)
		if variant == 6 {
			data = append(data, " and more"...)
		}
		return uploadMove{event: upload.CommitUpload{Digest: digest(data), Length: int64(len(data))}}
	}
	return uploadMove{rest: r.State.Terminal()}
}

// uploadHandlers notes the rows of blobs in the transaction of the step and issues URLs.
type uploadHandlers struct{ out Outside }

var _ upload.Handlers[tx] = uploadHandlers{}

func (h uploadHandlers) IssuePartURLs(ctx context.Context, d fsm.Dispatch, _ upload.IssuePartURLsEffect) error {
	if err := h.out.call(ctx, "s3", d); err != nil {
		return err
	}
	return h.out.put("s3", "urls/"+d.Record, nil)
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
	return h.out.remove("s3", "urls/"+d.Record)
}
