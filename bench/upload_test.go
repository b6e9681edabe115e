package bench

import (
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/generated/upload"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// The walk that every contender takes: an upload from its first request to
// the committed blob, three transitions with their guards.
const (
	digest = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	length = 1 << 20
)

var (
	now     = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	expires = now.Add(time.Hour)
)

// BenchmarkUpload walks one upload per iteration: generated code, the same
// machine as a person would write it, and two libraries of the field.
func BenchmarkUpload(b *testing.B) {
	b.Run("generated", benchmarkGenerated)
	b.Run("handwritten", benchmarkHandwritten)
	b.Run("looplab", benchmarkLooplab)
	b.Run("stateless", benchmarkStateless)
}

func benchmarkGenerated(b *testing.B) {
	b.ReportAllocs()
	fresh := upload.Record{State: upload.Initiated, ExpiresAt: expires, ExpectedDigest: digest, ExpectedLength: length}
	r := fresh
	for b.Loop() {
		r.State, r.BlobDigest, r.BlobLength = fresh.State, fsm.Optional[string]{}, fsm.Optional[int64]{}
		if _, err := r.StartPartsUpload(upload.StartPartsUpload{SessionValid: true}, now); err != nil {
			b.Fatal(err)
		}
		if _, err := r.CompleteParts(upload.CompleteParts{MissingParts: 0}, now); err != nil {
			b.Fatal(err)
		}
		if _, err := r.CommitUpload(upload.CommitUpload{Digest: digest, Length: length}, now); err != nil {
			b.Fatal(err)
		}
	}
	if r.State != upload.Committed {
		b.Fatalf("the walk ends in %s", r.State)
	}
}
