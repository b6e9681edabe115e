package s3

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fsmgen/fsmgen/adapters/object"
)

const (
	// chunk is how much is read at once.
	chunk = 256 << 10
	// stretch is how much is written before the disk is set to work on it, so
	// that the sync at the end finds little left to do.
	stretch = 8 << 20
)

// A landing is a file on its way: it grows at temp, is hashed on the way, and
// appears at path when it is whole and on the disk.
type landing struct {
	temp, path string
	file       *os.File
	hash       hash.Hash
	size       int64 // what is written
	begun      int64 // what the disk is at, of it
	total      int64 // what is expected
	progress   object.Progress
	buffer     []byte
}

// land opens temp, forgetting what it held.
func land(temp, path string, total int64, progress object.Progress) (*landing, error) {
	file, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, &diskError{err}
	}
	if progress == nil {
		progress = func(int64, int64) {}
	}
	return &landing{
		temp: temp, path: path, file: file, hash: sha256.New(), total: total,
		progress: progress, buffer: make([]byte, chunk),
	}, nil
}

// take appends all of r. An error of the disk is a *diskError, any other is r's.
func (l *landing) take(r io.Reader) error {
	for {
		n, err := r.Read(l.buffer)
		if n > 0 {
			if _, err := l.file.Write(l.buffer[:n]); err != nil {
				return &diskError{err}
			}
			l.hash.Write(l.buffer[:n])
			l.size += int64(n)
			if l.size-l.begun >= stretch {
				writeBack(l.file, l.begun, l.size-l.begun)
				l.begun = l.size
			}
			l.progress(l.size, l.total)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// finish makes the file durable, then visible, then durably visible.
func (l *landing) finish(etag string) (object.Object, error) {
	if err := l.file.Sync(); err != nil {
		return object.Object{}, &diskError{err}
	}
	if err := l.file.Close(); err != nil {
		return object.Object{}, &diskError{err}
	}
	if err := os.Rename(l.temp, l.path); err != nil {
		return object.Object{}, &diskError{err}
	}
	if err := syncDir(filepath.Dir(l.path)); err != nil {
		return object.Object{}, &diskError{err}
	}
	return object.Object{Size: l.size, Checksum: hex.EncodeToString(l.hash.Sum(nil)), ETag: etag}, nil
}

// abandon removes what finish has not moved away. What can't be removed is
// overwritten by the next one.
func (l *landing) abandon() {
	l.file.Close()
	if err := os.Remove(l.temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return
	}
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
