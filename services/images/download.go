package images

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/images/extract"
)

// downloader does the work of the machine download: document 002, Download FSM
// State Contracts.
type downloader struct {
	objects Objects
	files   files
	limits  extract.Options
	timeout time.Duration // of one validation
	tell    Listener
}

var _ download.Handlers[*sql.Tx] = downloader{}

// CheckExists answers from the table images and the file that it names. The
// checksum of a file that was not touched since it was computed is known.
func (h downloader) CheckExists(ctx context.Context, d fsm.Dispatch, e download.CheckExistsEffect) (download.CheckExistsAnswer, error) {
	var answer download.Checked
	var bucket, key string
	const query = "SELECT bucket, s3_key, download_status = 'completed', local_path, checksum, size_bytes FROM images WHERE image_id = ?"
	found, err := row(ctx, h.files.store, query, []any{e.ImageID}, &bucket, &key,
		&answer.RowCompleted, &answer.StoredPath, &answer.StoredChecksum, &answer.StoredBytes)
	if err != nil || !found {
		return answer, err
	}
	if bucket != e.Bucket || key != e.S3Key {
		answer.OtherObject = true
		return answer, judge(ctx, h.files.store, d.Record, idTaken(e.ImageID, bucket, key).Error())
	}
	if !answer.RowCompleted {
		return answer, nil
	}
	sum, size, err := h.files.checksum(ctx, answer.StoredPath.V)
	if errors.Is(err, fs.ErrNotExist) {
		return answer, nil
	}
	if err != nil {
		return nil, err
	}
	answer.FileExists = true
	answer.SizeMatches, answer.ChecksumMatches = size == answer.StoredBytes.V, sum == answer.StoredChecksum.V
	return answer, nil
}

// DownloadObject fetches to a file beside the others and moves it into place.
func (h downloader) DownloadObject(ctx context.Context, _ fsm.Dispatch, e download.DownloadObjectEffect) (download.DownloadObjectAnswer, error) {
	path := h.files.tar(e.ImageID)
	object, err := h.objects.Fetch(ctx, e.Bucket, e.S3Key, h.files.temp(e.ImageID), path, h.tell.progress(e.ImageID, Download))
	if err != nil {
		return nil, lasting(err, ErrNoObject, ErrDenied, syscall.ENOSPC)
	}
	if err := h.files.remember(ctx, path, object.Checksum); err != nil {
		return nil, err
	}
	// A file with another checksum than its object was given won't be valid.
	return download.Downloaded{LocalPath: path, Checksum: cmp.Or(object.Stated, object.Checksum), SizeBytes: object.Size}, nil
}

// lasting marks an error that a repeat would meet again.
func lasting(err error, kinds ...error) error {
	for _, kind := range kinds {
		if errors.Is(err, kind) {
			return &engine.PermanentError{Err: err}
		}
	}
	return err
}

// RemoveTempFile: "resuming during download: Cleanup temp file".
func (h downloader) RemoveTempFile(_ context.Context, _ fsm.Dispatch, e download.RemoveTempFileEffect) error {
	return remove(h.files.temp(e.ImageID))
}

// ValidateFile reads the file once: its checksum, and whether extracting it
// would be refused. A file that takes too long would take as long again.
func (h downloader) ValidateFile(ctx context.Context, d fsm.Dispatch, e download.ValidateFileEffect) (download.ValidateFileAnswer, error) {
	file, err := os.Open(e.LocalPath.V)
	if errors.Is(err, fs.ErrNotExist) { // nothing is not the file that was downloaded
		return download.Validated{}, judge(ctx, h.files.store, d.Record, "the file that was downloaded is gone; ask again")
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	within, stop := context.WithTimeoutCause(ctx, h.timeout, errSlow)
	defer stop()
	hash := sha256.New()
	counted := &counter{r: io.TeeReader(file, hash)}
	_, checked := extract.Check(within, counted, h.limits)
	if errors.Is(checked, errSlow) {
		return nil, &engine.PermanentError{Err: fmt.Errorf("%w: %s (validate-timeout); give it more time, or mend the object", errSlow, h.timeout)}
	}
	if _, err := io.Copy(io.Discard, counted); err != nil { // what is behind the end of the archive belongs to the file
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var refused *extract.RefusedError
	answer := download.Validated{
		ChecksumOk:  counted.n == e.SizeBytes.V && hex.EncodeToString(hash.Sum(nil)) == e.Checksum.V,
		StructureOk: checked == nil || errors.As(checked, &refused),
		SecurityOk:  !errors.As(checked, &refused),
	}
	switch {
	case !answer.ChecksumOk:
		err = judge(ctx, h.files.store, d.Record, fmt.Sprintf("it has %d bytes with SHA-256 %x, not %d with %s as the object is said to have; "+
			"if it is so again, mend the object", counted.n, hash.Sum(nil), e.SizeBytes.V, e.Checksum.V))
	case checked != nil:
		err = judge(ctx, h.files.store, d.Record, fmt.Sprintf("the object is no image: %v; %s", checked, remedy(refused)))
	}
	return answer, err
}

// errSlow is why a validation is given up.
var errSlow = errors.New("the validation takes longer than allowed")

// remedy says what to do about an archive that is no image.
func remedy(refused *extract.RefusedError) string {
	if refused != nil && refused.Limit != "" {
		return "mend the object, or change the option of that name of images daemon and process-image, and ask again"
	}
	return "mend the object and ask again"
}

func (h downloader) DeleteFile(_ context.Context, _ fsm.Dispatch, e download.DeleteFileEffect) error {
	return remove(e.LocalPath.V)
}

// remove makes sure that a file is not there.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// counter counts what is read through it.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// files is where the tars are, and what is known of them.
type files struct {
	dir   string
	store store
}

func (f files) tar(image string) string  { return filepath.Join(f.dir, "tars", image+".tar") }
func (f files) temp(image string) string { return filepath.Join(f.dir, "temp", image+".part") }

// imageOf is the image whose tar a path is.
func imageOf(tar string) string { return strings.TrimSuffix(filepath.Base(tar), ".tar") }

// checksum returns the SHA-256 and the size of a file, computing the first only
// if the file is not as it was when it was computed last.
func (f files) checksum(ctx context.Context, path string) (sum string, size int64, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", 0, err
	}
	const query = "SELECT checksum FROM checked_files WHERE path = ? AND size = ? AND modified = ? AND inode = ?"
	known, err := row(ctx, f.store, query, []any{path, info.Size(), info.ModTime().UnixNano(), inode(info)}, &sum)
	if err != nil || known {
		return sum, info.Size(), err
	}
	file, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = file.Close() }() // it was only read
	hash := sha256.New()
	if size, err = io.Copy(hash, file); err != nil {
		return "", 0, fmt.Errorf("checksum of %s: %w", path, err)
	}
	sum = hex.EncodeToString(hash.Sum(nil))
	return sum, size, f.remember(ctx, path, sum)
}

// remember keeps the checksum of a file with what shows that it was not touched.
func (f files) remember(ctx context.Context, path, sum string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return f.store.InTx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO checked_files VALUES (?, ?, ?, ?, ?)",
			path, info.Size(), info.ModTime().UnixNano(), inode(info), sum)
		return err
	})
}
