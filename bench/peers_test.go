package bench

import (
	"context"
	"testing"

	"github.com/looplab/fsm"
	"github.com/qmuntal/stateless"
)

// peerRecord is what the guards of the libraries look at.
type peerRecord struct {
	expected, actual       string
	wantLength, haveLength int64
	blobDigest             string
	blobLength             int64
	sessionValid           bool
	missingParts           int
}

func freshPeer() *peerRecord {
	return &peerRecord{expected: digest, actual: digest, wantLength: length, haveLength: length, sessionValid: true}
}

// benchmarkLooplab builds the machine once and sets it back for each walk;
// its guards are callbacks that cancel.
func benchmarkLooplab(b *testing.B) {
	b.ReportAllocs()
	r := freshPeer()
	guard := func(ok func() bool) fsm.Callback {
		return func(_ context.Context, e *fsm.Event) {
			if !ok() {
				e.Cancel()
			}
		}
	}
	m := fsm.NewFSM("initiated", fsm.Events{
		{Name: "start_parts_upload", Src: []string{"initiated"}, Dst: "parts_uploading"},
		{Name: "complete_parts", Src: []string{"parts_uploading"}, Dst: "pending_commit"},
		{Name: "commit_upload", Src: []string{"pending_commit"}, Dst: "committed"},
		{Name: "abort_upload", Src: []string{"initiated", "parts_uploading", "pending_commit"}, Dst: "aborted"},
	}, fsm.Callbacks{
		"before_start_parts_upload": guard(func() bool { return r.sessionValid && expires.After(now) }),
		"before_complete_parts":     guard(func() bool { return r.missingParts == 0 }),
		"before_commit_upload":      guard(func() bool { return r.actual == r.expected && r.haveLength == r.wantLength }),
		"after_commit_upload": func(context.Context, *fsm.Event) {
			r.blobDigest, r.blobLength = r.actual, r.haveLength
		},
	})
	ctx := context.Background()
	for b.Loop() {
		m.SetState("initiated")
		for _, event := range []string{"start_parts_upload", "complete_parts", "commit_upload"} {
			if err := m.Event(ctx, event); err != nil {
				b.Fatal(err)
			}
		}
	}
	if m.Current() != "committed" || r.blobDigest != digest {
		b.Fatalf("the walk ends in %s", m.Current())
	}
}

// benchmarkStateless keeps the state in the record, as its documentation
// shows for durable machines.
func benchmarkStateless(b *testing.B) {
	b.ReportAllocs()
	r := freshPeer()
	state := "initiated"
	m := stateless.NewStateMachineWithExternalStorage(
		func(context.Context) (stateless.State, error) { return state, nil },
		func(_ context.Context, s stateless.State) error {
			state = s.(string)
			return nil
		}, stateless.FiringQueued)
	guard := func(ok func() bool) stateless.GuardFunc {
		return func(context.Context, ...any) bool { return ok() }
	}
	m.Configure("initiated").
		Permit("start_parts_upload", "parts_uploading", guard(func() bool { return r.sessionValid && expires.After(now) })).
		Permit("abort_upload", "aborted")
	m.Configure("parts_uploading").
		Permit("complete_parts", "pending_commit", guard(func() bool { return r.missingParts == 0 })).
		Permit("abort_upload", "aborted")
	m.Configure("pending_commit").
		Permit("commit_upload", "committed", guard(func() bool { return r.actual == r.expected && r.haveLength == r.wantLength })).
		Permit("abort_upload", "aborted")
	m.Configure("committed").OnEntry(func(context.Context, ...any) error {
		r.blobDigest, r.blobLength = r.actual, r.haveLength
		return nil
	})
	ctx := context.Background()
	for b.Loop() {
		state = "initiated"
		for _, event := range []string{"start_parts_upload", "complete_parts", "commit_upload"} {
			if err := m.FireCtx(ctx, event); err != nil {
				b.Fatal(err)
			}
		}
	}
	if state != "committed" || r.blobDigest != digest {
		b.Fatalf("the walk ends in %s", state)
	}
}
