package engine_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// witness remembers what was saved last.
type witness struct {
	engine.Store[*sql.Tx]
	saved []store.Commit
}

func (w *witness) Save(ctx context.Context, tx *sql.Tx, commits []store.Commit) error {
	w.saved = commits
	return w.Store.Save(ctx, tx, commits)
}

// TestEachStepSaysWhatWasBefore: the store compares the first step of a chain
// with what was read, and each further one with the step before it.
func TestEachStepSaysWhatWasBefore(t *testing.T) {
	s := newStage(t)
	w := &witness{Store: s.store}
	e, err := engine.New[*sql.Tx](w, s.config, s.machines()...)
	if err != nil {
		t.Fatal(err)
	}
	id := fullID("1")
	call := engine.Call{By: fsm.System()}
	if _, err := e.Create(t.Context(), "download", id, download.Start{ImageID: "img", S3Key: "k", Bucket: "b"}, call); err != nil {
		t.Fatal(err)
	}
	if before := w.saved[0].Steps[0].Before; before != nil {
		t.Errorf("a creation comes from %+v", before)
	}
	for _, event := range []fsm.Payload{
		download.Checked{}, download.Downloaded{LocalPath: "/x", Checksum: "c", SizeBytes: 3},
		download.Validated{ChecksumOk: true, StructureOk: true, SecurityOk: true},
	} {
		was, err := e.Get(t.Context(), "download", id)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Fire(t.Context(), "download", id, event, call); err != nil {
			t.Fatal(err)
		}
		before := was.Record
		for i, step := range w.saved[0].Steps {
			if got, want := step.Before.(*download.Record), before.(*download.Record); *got != *want {
				t.Errorf("step %d of %s comes from %+v, want %+v", i, event.EventName(), got, want)
			}
			before = step.Record
		}
	}
	if n := len(w.saved[0].Steps); n != 2 {
		t.Errorf("the last event makes %d steps, want a chain of 2", n)
	}
}
