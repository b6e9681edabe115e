package object

import (
	"context"
	"errors"
)

// Objects fetches objects of a store into files.
type Objects interface {
	// Fetch streams an object to the file temp, computes its SHA-256 while reading, syncs the file
	// and renames it to path. It continues a broken stream by range, if the object is still the
	// same. It overwrites temp, and removes it after an error.
	//
	// It returns ErrNoObject, ErrChanged and ErrDenied. Other errors may be temporary.
	Fetch(ctx context.Context, bucket, key, temp, path string, progress Progress) (Object, error)
}

// Object describes a fetched object.
type Object struct {
	Size     int64  // bytes
	Checksum string // SHA-256 of what was written, 64 hex digits
	ETag     string
	// Stated is the SHA-256 that the object was stored with, "" if there is none. Fetch does not
	// compare it with Checksum; the caller does.
	Stated string
}

// Progress is called with the bytes that are done and the total, which is -1 if it is unknown. It is
// called often and must return quickly.
type Progress func(done, total int64)

// Errors of Objects. They wrap their cause and say what to do.
var (
	ErrNoObject = errors.New("there is no such object")
	ErrChanged  = errors.New("the object was replaced while it was read")
	ErrDenied   = errors.New("access to the object is denied")
)
