package bench

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

// handState, handRecord and its methods are document 000, section 1, as a
// careful person would write them: a switch a command, the guards of the
// table, no table and no explanation.
type handState uint8

const (
	handInitiated handState = iota + 1
	handPartsUploading
	handPendingCommit
	handCommitted
	handAborted
)

type handRecord struct {
	state          handState
	expiresAt      time.Time
	expectedDigest string
	expectedLength int64
	blobDigest     string
	blobLength     int64
	blobKnown      bool
}

var (
	errHandIllegal = errors.New("illegal transition")
	errHandGuard   = errors.New("guard failed")
)

// handTransition tells which row was taken, as the generated code does.
type handTransition uint16

const (
	handStart handTransition = iota + 1
	handPartsDone
	handVerified
	handMismatch
)

func (r *handRecord) startPartsUpload(sessionValid bool, now time.Time) (handTransition, error) {
	switch r.state {
	case handInitiated:
		if !sessionValid || !r.expiresAt.After(now) {
			return 0, fmt.Errorf("start_parts_upload: %w", errHandGuard)
		}
		r.state = handPartsUploading
		return handStart, nil
	case handPartsUploading, handPendingCommit, handCommitted, handAborted:
	}
	return 0, fmt.Errorf("start_parts_upload in %d: %w", r.state, errHandIllegal)
}

func (r *handRecord) completeParts(missing int64) (handTransition, error) {
	if missing < 0 {
		return 0, fmt.Errorf("complete_parts: %w", errHandGuard)
	}
	switch r.state {
	case handPartsUploading:
		if missing != 0 {
			return 0, fmt.Errorf("complete_parts: %w", errHandGuard)
		}
		r.state = handPendingCommit
		return handPartsDone, nil
	case handInitiated, handPendingCommit, handCommitted, handAborted:
	}
	return 0, fmt.Errorf("complete_parts in %d: %w", r.state, errHandIllegal)
}

func (r *handRecord) commitUpload(digest string, length int64) (handTransition, error) {
	if length < 0 {
		return 0, fmt.Errorf("commit_upload: %w", errHandGuard)
	}
	switch r.state {
	case handPendingCommit:
		if digest == r.expectedDigest && length == r.expectedLength {
			r.state, r.blobDigest, r.blobLength, r.blobKnown = handCommitted, digest, length, true
			return handVerified, nil
		}
		r.state = handAborted
		return handMismatch, nil
	case handInitiated, handPartsUploading, handCommitted, handAborted:
	}
	return 0, fmt.Errorf("commit_upload in %d: %w", r.state, errHandIllegal)
}

func benchmarkHandwritten(b *testing.B) {
	b.ReportAllocs()
	r := handRecord{expiresAt: expires, expectedDigest: digest, expectedLength: length}
	for b.Loop() {
		r.state, r.blobDigest, r.blobLength, r.blobKnown = handInitiated, "", 0, false
		if _, err := r.startPartsUpload(true, now); err != nil {
			b.Fatal(err)
		}
		if _, err := r.completeParts(0); err != nil {
			b.Fatal(err)
		}
		if _, err := r.commitUpload(digest, length); err != nil {
			b.Fatal(err)
		}
	}
	if r.state != handCommitted {
		b.Fatalf("the walk ends in %d", r.state)
	}
}
