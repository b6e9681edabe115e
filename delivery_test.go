package fsmgen_test

import (
	"testing"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// TestDeliveryClassesAgree: the compiler and the runtime have the same delivery classes, and
// the questions that both ask have the same answers.
func TestDeliveryClassesAgree(t *testing.T) {
	t.Parallel()
	if len(ir.Deliveries()) != len(fsm.Deliveries()) {
		t.Fatalf("gen/ir has %v, runtime/fsm has %v", ir.Deliveries(), fsm.Deliveries())
	}
	type answers struct{ inStep, repeats, asked bool }
	for i, compiled := range ir.Deliveries() {
		run := fsm.Deliveries()[i]
		if string(run) != string(compiled) {
			t.Fatalf("%s of gen/ir is %s in runtime/fsm", compiled, run)
		}
		want := answers{compiled.InStep(), compiled.Repeats(), compiled.Asked()}
		if got := (answers{run.InStep(), run.Repeats(), run.Asked()}); got != want {
			t.Errorf("%s: gen/ir says %+v, runtime/fsm %+v", run, want, got)
		}
	}
}
