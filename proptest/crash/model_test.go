package crash_test

import (
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/fsmgen/fsmgen/generated/gc"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// sequential is a record as the model has it.
type sequential struct {
	record  fsm.Record
	version int64
}

// modelOf is the machine without a store, one event after the other.
func modelOf[Tx any](m engine.Machine[Tx]) porcupine.Model {
	return porcupine.Model{
		Partition: func(history []porcupine.Operation) (parts [][]porcupine.Operation) {
			of := map[int][]porcupine.Operation{}
			for _, op := range history {
				of[op.Input.(operation).record] = append(of[op.Input.(operation).record], op)
			}
			for _, part := range of {
				parts = append(parts, part)
			}
			return parts
		},
		Init: func() any {
			e, _ := fsm.EventOf(gc.Create{Digest: "d"}) // encodes
			d, err := m.Create("00000000-0000-4000-8000-000000000000", e, fsm.Input{Now: epoch})
			if err != nil {
				return sequential{}
			}
			return sequential{d.Record, 1}
		},
		Step: func(state, input, output any) (bool, any) {
			s, op, out := state.(sequential), input.(operation), output.(result)
			if op.event == nil {
				return out.version == s.version && out.state == s.record.StateName(), s
			}
			if out.conflict { // another call was first; nothing has changed
				return true, s
			}
			e, _ := fsm.EventOf(op.event) // encodes
			d, err := m.Fire(s.record, e, fsm.Input{Now: epoch})
			if err != nil || out.rejected {
				return err != nil && out.rejected && out.state == s.record.StateName(), s
			}
			next := sequential{d.Record, s.version + 1}
			return out.version == next.version && out.state == next.record.StateName(), next
		},
		Equal: func(a, b any) bool {
			x, y := a.(sequential), b.(sequential)
			return x.version == y.version && x.record.StateName() == y.record.StateName()
		},
	}
}

// TestTheModelRefuses: the model finds impossible histories.
func TestTheModelRefuses(t *testing.T) {
	model := modelOf(engine.Machine[sqliteTx](gc.Define[sqliteTx](nil, gc.DefaultParams())))
	remove := operation{event: gc.DeleteRequest{Authorized: true}}
	at := func(call int64, in operation, out result) porcupine.Operation {
		return porcupine.Operation{ClientId: int(call), Input: in, Output: out, Call: call, Return: call + 10}
	}
	won := result{version: 2, state: "tombstoned"}
	for name, history := range map[string][]porcupine.Operation{
		"two winners of one version":  {at(0, remove, won), at(1, remove, won)},
		"a read of what was not":      {at(0, operation{}, result{version: 2, state: "tombstoned"})},
		"a stale read":                {at(0, remove, won), at(20, operation{}, result{version: 1, state: "live"})},
		"a rejection without reason":  {at(0, remove, result{rejected: true, state: "live"})},
		"a version that was left out": {at(0, remove, result{version: 3, state: "tombstoned"})},
	} {
		if porcupine.CheckOperations(model, history) {
			t.Errorf("%s passes", name)
		}
	}
	if !porcupine.CheckOperations(model, []porcupine.Operation{at(0, remove, won), at(1, remove, result{conflict: true}), at(20, operation{}, won)}) {
		t.Error("a good history does not pass")
	}
}
