package service

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// downloadRole begins the chain of three machines: a download that completes
// starts an unpack in the same transaction, and that an activate.
func downloadRole(o Outside, store Store) Role {
	return Role{
		Machine: download.Define[*sql.Tx](downloader{o, store}, download.DefaultParams()),
		Open: func(n int, _ time.Time) (Opening, error) {
			key := fmt.Sprintf("image-%d.tar", n)
			event := download.Start{ImageID: fmt.Sprintf("image-%d", n), S3Key: key, Bucket: "images"}
			if n%10 == 9 { // the object is not there
				return Opening{event, fsm.System()}, nil
			}
			data, err := image(n)
			if err != nil {
				return Opening{}, err
			}
			return Opening{event, fsm.System()}, o.put("s3", "images/"+key, data)
		},
		Next: simple(func(r *download.Record, _ Point) Move { return untilTerminal(r.State.Terminal()) }),
	}
}

// downloader copies objects from the stand-in for S3 to the local disk.
type downloader struct {
	out   Outside
	store Store
}

var _ download.Handlers[*sql.Tx] = downloader{}

func (h downloader) CheckExists(ctx context.Context, d fsm.Dispatch, e download.CheckExistsEffect) (download.CheckExistsAnswer, error) {
	if err := h.out.call(ctx, "disk", d); err != nil {
		return nil, err
	}
	var answer download.Checked
	row := "SELECT local_path, checksum, size_bytes FROM images WHERE image_id = ? AND download_status = 'completed'" // image-N has one object
	found, err := look(ctx, h.store, row, []any{e.ImageID}, &answer.StoredPath, &answer.StoredChecksum, &answer.StoredBytes)
	if err != nil || !found {
		return answer, err
	}
	answer.RowCompleted = true
	data, err := os.ReadFile(answer.StoredPath.V)
	if errors.Is(err, fs.ErrNotExist) {
		return answer, nil
	}
	answer.FileExists = err == nil
	answer.SizeMatches, answer.ChecksumMatches = int64(len(data)) == answer.StoredBytes.V, digest(data) == answer.StoredChecksum.V
	return answer, err
}

// DownloadObject writes to a temporary file and moves it into place.
func (h downloader) DownloadObject(ctx context.Context, d fsm.Dispatch, e download.DownloadObjectEffect) (download.DownloadObjectAnswer, error) {
	if err := h.out.call(ctx, "s3", d); err != nil {
		return nil, err
	}
	data, err := h.out.get("s3", e.Bucket+"/"+e.S3Key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no object %s in bucket %s", e.S3Key, e.Bucket)
	}
	if err != nil {
		return nil, err
	}
	if err := h.out.put("disk", e.ImageID+".tmp", data); err != nil {
		return nil, err
	}
	path := h.out.path("disk", e.ImageID+".tar")
	if err := os.Rename(h.out.path("disk", e.ImageID+".tmp"), path); err != nil {
		return nil, err
	}
	return download.Downloaded{LocalPath: path, Checksum: digest(data), SizeBytes: int64(len(data))}, nil
}

func (h downloader) RemoveTempFile(_ context.Context, _ fsm.Dispatch, e download.RemoveTempFileEffect) error {
	return h.out.remove("disk", e.ImageID+".tmp")
}

func (h downloader) ValidateFile(ctx context.Context, _ fsm.Dispatch, e download.ValidateFileEffect) (download.ValidateFileAnswer, error) {
	if err := h.out.work(ctx, 1); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(e.LocalPath.V)
	if err != nil {
		return nil, err
	}
	whole, safe := inspect(data)
	return download.Validated{ChecksumOk: digest(data) == e.Checksum.V, StructureOk: whole, SecurityOk: safe}, nil
}

func (h downloader) DeleteFile(_ context.Context, _ fsm.Dispatch, e download.DeleteFileEffect) error {
	if err := os.Remove(e.LocalPath.V); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
