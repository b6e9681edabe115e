package fsm_test

import (
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// TestDeliveryProperties writes down what an engine does with each class. The proofs ask the
// same properties, so what they say is fixed here.
func TestDeliveryProperties(t *testing.T) {
	type properties struct{ InStep, Repeats, Asked, RepeatsUnasked bool }
	want := map[fsm.Delivery]properties{
		fsm.InTransaction: {InStep: true},
		fsm.Idempotent:    {Repeats: true, RepeatsUnasked: true},
		fsm.Keyed:         {Repeats: true, RepeatsUnasked: true},
		fsm.Queryable:     {Repeats: true, Asked: true},
		fsm.AtMostOnce:    {},
	}
	if len(fsm.Deliveries()) != len(want) {
		t.Fatalf("the classes are %v", fsm.Deliveries())
	}
	for d, want := range want {
		if got := (properties{d.InStep(), d.Repeats(), d.Asked(), d.RepeatsUnasked()}); got != want {
			t.Errorf("%s: got %+v, want %+v", d, got, want)
		}
		for _, kind := range []fsm.EffectKind{fsm.EffectCall, fsm.EffectLog, fsm.EffectMetric, fsm.EffectUpsert, fsm.EffectUpdate, fsm.EffectDelete, fsm.EffectStart} {
			info := fsm.EffectInfo{Kind: kind, Delivery: d}
			if got, want := info.InOutbox(), kind == fsm.EffectCall && !want.InStep; got != want {
				t.Errorf("%s %s: InOutbox is %t", d, kind, got)
			}
		}
	}
}

// TestUnknownDelivery: a class without an answer gets none.
func TestUnknownDelivery(t *testing.T) {
	const d = fsm.Delivery("no such class")
	for name, ask := range map[string]func() bool{"InStep": d.InStep, "Repeats": d.Repeats, "Asked": d.Asked, "RepeatsUnasked": d.RepeatsUnasked} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				err, _ := recover().(error)
				if err == nil || !strings.Contains(err.Error(), name+` has no answer for delivery class "no such class"`) {
					t.Errorf("got %v", err)
				}
			}()
			ask()
		})
	}
}
