package scenarios

import (
	"maps"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/gen/interp"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// world is the state of the records of a scenario. It is immutable: each change makes
// another one.
type world struct {
	instances []instance // one for each machine of the group
	now       time.Time
	jobs      []job           // work whose reply is awaited, oldest first
	keys      map[string]bool // of events, which are used up
	asked     []dispatch      // calls of handlers, all that ever were
	took      []*ir.Row       // by what led here last
	rows      rows
	refused   bool // a table does not take what led here
}

// instance is the record of one machine.
type instance struct {
	record *interp.Record // nil: not created
	timer  *deadline
}

// deadline is an event that is due at a time.
type deadline struct {
	at   time.Time
	fire *ir.Fire
	args []ir.Value
}

// Asked names one call of a handler: an effect, and the step that asked for it.
type Asked struct {
	Machine, Effect string
	Version         int64
}

// job is work of a state, on its way to a handler.
type job struct {
	machine int // its place in the group
	effect  *ir.Effect
	version int64
}

func (c *Group) asked(j job) Asked {
	return Asked{c.machines[j.machine].Text, j.effect.Text, j.version}
}

// dispatch is a job or a message, with the deadline under which it runs.
type dispatch struct {
	job
	timer *deadline
	at    time.Time
	step  int // how many steps callers had taken
}

func (w *world) clone() *world {
	c := *w
	c.instances, c.jobs, c.keys, c.asked = slices.Clone(w.instances), slices.Clone(w.jobs), maps.Clone(w.keys), slices.Clone(w.asked)
	c.took = nil
	return &c
}

// take does what an accepted event leads to; step is how many steps callers took.
func (c *Group) take(w *world, i int, result interp.Result, step int) (next *world, ok bool) {
	next = w.clone()
	c.follow(next, i, result, step)
	return next, !next.refused
}

func (c *Group) follow(w *world, i int, result interp.Result, step int) {
	if len(result.Steps) > 0 {
		first := result.Steps[0]
		if key, ok := keyOf(first.Input, first.Before); ok {
			w.keys[c.machines[i].Text+"/"+key] = true
		}
	}
	for n, s := range result.Steps {
		f := &w.instances[i]
		f.record, w.took = s.After, append(w.took, s.Row)
		if s.Row.To != nil {
			w.jobs = slices.DeleteFunc(w.jobs, func(j job) bool { return j.machine == i })
		}
		if !s.Deadline.Kept {
			f.timer = nil
			if s.Deadline.At != nil {
				f.timer = &deadline{*s.Deadline.At, s.Deadline.Fire, s.Deadline.Args}
			}
		}
		last := n == len(result.Steps)-1
		for _, e := range s.Effects {
			c.effect(w, i, s, e, step, last)
		}
	}
}

// effect notes a call of a handler, or starts another machine.
func (c *Group) effect(w *world, i int, s interp.Step, e interp.Effect, step int, last bool) {
	switch {
	case e.Effect == nil:
	case e.Effect.Kind == ir.Start:
		c.start(w, e, step)
	case e.Effect.Table != nil:
		w.refused = w.refused || !w.write(e)
	case e.Effect.Kind == ir.Call && !e.Effect.Delivery.InStep():
		j := job{i, e.Effect, s.After.Version}
		if e.Effect.IsWork() {
			if !last { // the raised event may leave the state at once
				return
			}
			w.jobs = append(w.jobs, j)
		}
		w.asked = append(w.asked, dispatch{j, w.instances[i].timer, w.now, step})
	}
}

// start creates the record of another machine, unless that has one.
func (c *Group) start(w *world, e interp.Effect, step int) {
	m := e.Effect.Machine
	i := c.index(m)
	if i < 0 || w.instances[i].record != nil {
		return
	}
	in := interp.Input{Event: ir.Creation(m).Event, Actor: interp.System(), Now: w.now}
	for _, f := range interp.Payload(in.Event) {
		var value ir.Value
		for _, v := range e.Values {
			if v.Name == f.Text {
				value = v.Value
			}
		}
		in.Args = append(in.Args, value)
	}
	result, rejection := interp.Create(m, aRecord(m), in)
	if w.refused = w.refused || rejection != nil; !w.refused {
		c.follow(w, i, result, step)
	}
}

// keyOf is the key that an event has by itself.
func keyOf(in interp.Input, record *interp.Record) (string, bool) {
	if in.Event.Key == nil {
		return "", false
	}
	text := ""
	for _, p := range in.Event.Key.Parts {
		text += p.Text
		if p.Field == nil {
			continue
		}
		var v ir.Value
		if i := slices.IndexFunc(interp.Payload(in.Event), func(f *ir.Field) bool { return f.Text == p.Field.Text }); i >= 0 && i < len(in.Args) {
			v = in.Args[i]
		} else if record != nil && p.Field.Index >= 0 {
			v = record.Get(p.Field)
		}
		text += string(interp.MarshalValue(p.Field.Type, v))
	}
	return text, true
}

// aRecord returns an id. No machine of a scenario has more than one record.
func aRecord(m *ir.Machine) ir.Value {
	switch m.ID.Type.Base {
	case ir.UUID:
		return "00000000-0000-4000-8000-000000000001"
	case ir.Int:
		return int64(1)
	case ir.String:
		return "record"
	case ir.Bool, ir.Time, ir.Duration, ir.JSON, ir.ListOf, ir.EnumOf: // identify nothing
	}
	panic(ir.NoForm("scenarios.aRecord", m.ID.Type.Base))
}
