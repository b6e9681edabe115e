package proptest

import (
	"iter"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/interp"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// Calls invents events at the records of one machine: those whose payloads its
// guards and holds can tell apart. Params have their defaults.
type Calls struct{ explorer *explorer }

// manyPayloads are tried where few records are: above it a sample is drawn.
const manyPayloads = 400

// NewCalls prepares the calls at records of m.
func NewCalls(m *ir.Machine) Calls {
	return Calls{&explorer{machine: m, fill: machineClasses(m), payloads: manyPayloads}}
}

// Of yields what is worth trying with an event on a record, nil before its
// creation: every caller that may fire it, with every payload that decides
// otherwise. The same arguments yield the same calls.
func (c Calls) Of(record *interp.Record, ev *ir.Event, at time.Time) iter.Seq[interp.Input] {
	return c.by(callers(c.explorer.machine), record, ev, at)
}

// Answers yields, of what an effect answers with or a timeout fires, every
// payload that decides otherwise and has what f binds.
func (c Calls) Answers(record *interp.Record, f *ir.Fire, at time.Time) iter.Seq[interp.Input] {
	system := caller{}
	if len(c.explorer.machine.Actors) > 0 {
		system = caller{interp.System().Role, noID}
	}
	return func(yield func(interp.Input) bool) {
		for in := range c.by([]caller{system}, record, f.Event, at) {
			in.Args = slices.Clone(in.Args)
			bind(f, in, record)
			if !yield(in) {
				return
			}
		}
	}
}

// bind puts what f binds into the payload. The text of an error is made up.
func bind(f *ir.Fire, in interp.Input, record *interp.Record) {
	read := func(o *ir.Operand) ir.Value {
		switch {
		case o.IsLit:
			return o.Literal
		case o.Param != nil:
			return o.Param.Default
		case o.Special == ir.ErrorText:
			return "it did not work"
		case o.Field != nil && o.Event == nil && record != nil:
			return record.Get(o.Field)
		}
		return nil
	}
	for i, field := range interp.Payload(f.Event) {
		for _, a := range f.Args {
			if a.Target.Text == field.Text {
				in.Args[i], _ = domain.EvalExpr(&a.Value, read) // what overflows is absent, and refused
			}
		}
	}
}

func (c Calls) by(who []caller, record *interp.Record, ev *ir.Event, at time.Time) iter.Seq[interp.Input] {
	return func(yield func(interp.Input) bool) {
		n := &node{record: record, now: at}
		if len(rowsOf(c.explorer.machine, n.state(), ev)) == 0 {
			return
		}
		s := newSituation(c.explorer.machine, n.state(), ev, at)
		for _, who := range who {
			for tc := range c.explorer.cases(s, n, who) {
				if !yield(tc.input) {
					return
				}
			}
		}
	}
}
