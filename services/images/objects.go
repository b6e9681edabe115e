package images

import (
	"context"
	"errors"
)

// Objects is where the tars of the images come from. adapters/s3 reads them
// from any S3-compatible endpoint, or from local directories.
type Objects interface {
	// Fetch streams an object to the file temp, computing its SHA-256 while
	// reading, syncs it and moves it to path atomically. A broken stream is
	// taken up again by range, if the object is still the same one. What temp
	// held before is overwritten; after an error it is removed.
	//
	// Errors: ErrNoObject, ErrChanged, ErrDenied; others may pass by themselves.
	Fetch(ctx context.Context, bucket, key, temp, path string, progress Progress) (Object, error)
}

// Object is what was fetched.
type Object struct {
	Size     int64  // bytes
	Checksum string // SHA-256 of what was written, 64 hex digits
	ETag     string
	// Stated is the SHA-256 that whoever stored the object gave it, "" if none
	// is known. Fetch does not compare: whether a file is what it should be is
	// for the validation to say.
	Stated string
}

// Progress is told how many bytes of how many are done; total is -1 if nobody
// knows. It is called often and must be quick.
type Progress func(done, total int64)

// Errors of Objects. They wrap their cause and say what to do.
var (
	ErrNoObject = errors.New("there is no such object")
	ErrChanged  = errors.New("the object was replaced while it was read")
	ErrDenied   = errors.New("access to the object is denied")
)
