package proptest

import (
	"encoding/json"
	"testing"

	"github.com/fsmgen/fsmgen/gen/interp"
	"github.com/fsmgen/fsmgen/gen/ir"
)

const specDir = "../spec"

var machines = []string{"upload", "publish", "outbox", "gc", "registration", "download", "unpack", "activate", "wal", "deal"}

// self answers with the interpreter itself, through JSON.
func self(m *ir.Machine) Subject {
	return func(c Call) Outcome {
		in := interp.Input{Now: c.Now}
		for _, ev := range m.Events {
			if ev.Text == c.Event {
				in.Event = ev
			}
		}
		var err error
		if in.Args, err = interp.UnmarshalPayload(in.Event, c.Payload); err != nil {
			return Outcome{Reason: string(interp.InvalidEvent)}
		}
		for _, who := range callers(m) {
			if who.role != nil && who.role.Text == c.Role {
				in.Actor.Role = who.role
			}
		}
		if in.Actor.ID, err = interp.UnmarshalValue(actorType(m), c.ActorID); err != nil {
			return Outcome{Reason: err.Error()}
		}
		if c.Record == nil {
			id, err := interp.UnmarshalValue(m.ID.Type, c.ID)
			if err != nil {
				return Outcome{Reason: err.Error()}
			}
			return outcome(m)(interp.Create(m, id, in))
		}
		rec, err := interp.UnmarshalRecord(m, c.Record)
		if err != nil {
			return Outcome{Reason: string(interp.Corrupt)}
		}
		return outcome(m)(interp.Fire(m, rec, in))
	}
}

func outcome(m *ir.Machine) func(interp.Result, *interp.Rejection) Outcome {
	return func(result interp.Result, rej *interp.Rejection) Outcome {
		if rej != nil {
			out := Outcome{Reason: string(rej.Reason)}
			if rej.Failure != nil {
				out.Class = rej.Failure.Text
			}
			return out
		}
		out := Outcome{Transitions: rowNames(result), Record: interp.MarshalRecord(m, result.Record)}
		if last := len(result.Steps) - 1; last >= 0 {
			if d := result.Steps[last].Deadline; d.At != nil {
				out.Deadline = &Deadline{At: *d.At, Event: d.Fire.Event.Text, Payload: interp.MarshalPayload(d.Fire.Event, d.Args)}
			}
		}
		for _, s := range result.Steps {
			for _, e := range s.Effects {
				out.Effects = append(out.Effects, json.RawMessage(interp.MarshalEffect(e)))
			}
		}
		return out
	}
}

func TestEveryMachineEqualsItself(t *testing.T) {
	for _, name := range machines {
		t.Run(name, func(t *testing.T) {
			spec := Load(t, specDir, name)
			Equivalence(t, spec, self(spec.Machine))
		})
	}
}

func TestDatabasesOfEveryMachine(t *testing.T) {
	for _, name := range machines {
		t.Run(name, func(t *testing.T) { Databases(t, Load(t, specDir, name)) })
	}
}
