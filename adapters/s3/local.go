package s3

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/fsmgen/fsmgen/adapters/object"
)

// Directory is an object store of plain files: a bucket is a directory below Root, a key a path
// below that. Keys and symbolic links can't lead out of a bucket. A key that is not a clean relative
// path ("a//b", "../c", "/d") is ErrNoObject, although S3 allows such keys.
//
// The ETag of a file consists of its length and the time of its last change. Fetch returns
// ErrChanged if these or the inode change while it reads.
type Directory struct {
	Root string
}

var _ object.Objects = Directory{}

// Fetch implements object.Objects.
func (d Directory) Fetch(ctx context.Context, bucket, key, temp, path string, progress object.Progress) (object.Object, error) {
	fetched, err := d.fetch(ctx, bucket, key, temp, path, progress)
	if err != nil {
		return object.Object{}, fmt.Errorf("fetch object %q of bucket %q below %s: %w", key, bucket, d.Root, err)
	}
	return fetched, nil
}

func (d Directory) fetch(ctx context.Context, bucket, key, temp, path string, progress object.Progress) (object.Object, error) {
	root, file, err := d.open(bucket, key)
	if err != nil {
		return object.Object{}, err
	}
	defer root.Close()
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return object.Object{}, err
	}
	l, err := land(temp, path, info.Size(), progress)
	if err != nil {
		return object.Object{}, err
	}
	defer l.abandon()
	err = l.take(readerFunc(func(p []byte) (int, error) {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		return file.Read(p)
	}))
	if err != nil {
		return object.Object{}, fmt.Errorf("after %d of %d bytes: %w", l.size, info.Size(), err)
	}
	if err := unchanged(root, key, info, l.size); err != nil {
		return object.Object{}, err
	}
	return l.finish(etagOf(info))
}

// open opens the file of a key, and its bucket.
func (d Directory) open(bucket, key string) (*os.Root, *os.File, error) {
	if !fs.ValidPath(bucket) || bucket == "." || filepath.Base(bucket) != bucket {
		return nil, nil, fmt.Errorf("%w: the bucket must be the name of a directory", object.ErrNoObject)
	}
	if !fs.ValidPath(key) || key == "." {
		return nil, nil, fmt.Errorf("%w: the key must be a clean relative path without . and .. in it", object.ErrNoObject)
	}
	root, err := os.OpenRoot(filepath.Join(d.Root, bucket))
	if err != nil {
		return nil, nil, classifyLocal(err)
	}
	// Without O_NONBLOCK a named pipe would keep open waiting for a writer.
	file, err := root.OpenFile(filepath.FromSlash(key), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		root.Close()
		return nil, nil, classifyLocal(err)
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		file.Close()
		root.Close()
		return nil, nil, errors.Join(fmt.Errorf("%w: the key is not that of a regular file", object.ErrNoObject), err)
	}
	return root, file, nil
}

// unchanged returns ErrChanged if the key is of another file than the one that was read, or if that
// file has changed since before.
func unchanged(root *os.Root, key string, before fs.FileInfo, read int64) error {
	after, err := root.Stat(filepath.FromSlash(key))
	if err != nil {
		return fmt.Errorf("%w: %w", object.ErrChanged, err)
	}
	if read != before.Size() || etagOf(before) != etagOf(after) || !os.SameFile(before, after) {
		return fmt.Errorf("%w: it had %d bytes when reading began: fetch it again when it is no longer written to", object.ErrChanged, before.Size())
	}
	return nil
}

// classifyLocal returns the error of object.Objects for an error of the file system. It leaves out
// the path, because Fetch adds the key.
func classifyLocal(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	var errno syscall.Errno
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: check the rights of the file and of the directories above it: %w", object.ErrDenied, err)
	case !errors.As(err, &errno), // a bucket that is a file, a link out of the bucket
		errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.EINVAL):
		return fmt.Errorf("%w: check the bucket and the key; links out of a bucket are not followed: %w", object.ErrNoObject, err)
	}
	return err
}

func etagOf(info fs.FileInfo) string {
	return fmt.Sprintf("%x-%x", info.Size(), info.ModTime().UnixNano())
}
