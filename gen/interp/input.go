package interp

import (
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// Actor is who fires an event. Role is nil where the machine knows no
// actors.
type Actor struct {
	Role *ir.Actor
	ID   ir.Value // nil for `system`
}

// System is the engine itself, and what raises events.
func System() Actor {
	return Actor{Role: &ir.Actor{Name: ir.Name{Text: "system"}, System: true}}
}

// String returns the role's name, "anybody" where there is no role.
func (a Actor) String() string {
	if a.Role == nil {
		return "anybody"
	}
	return a.Role.Text
}

// Input is one event with all that a decision depends on besides the record.
type Input struct {
	Event  *ir.Event
	Args   []ir.Value // the payload: values of Event.Fields, then of Event.Writes
	Actor  Actor
	Now    time.Time
	Params map[*ir.Param]ir.Value // what differs from the defaults
}

// normal truncates now and the times of the payload to microseconds and
// gives Args its full length.
func (in Input) normal() Input {
	in.Now = microseconds(in.Now)
	args := make([]ir.Value, len(in.Event.Fields)+len(in.Event.Writes))
	copy(args, in.Args)
	for i, v := range args {
		args[i] = normalValue(v)
	}
	in.Args = args
	return in
}

func normalValue(v ir.Value) ir.Value {
	switch v := v.(type) {
	case time.Time:
		return microseconds(v)
	case []any:
		out := slices.Clone(v)
		for i := range out {
			out[i] = normalValue(out[i])
		}
		return out
	}
	return v
}

func microseconds(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// Payload lists the fields of an event's payload in order: Fields, then the
// fields that it writes, whose types say whether they may be absent here.
func Payload(ev *ir.Event) []*ir.Field {
	out := slices.Clone(ev.Fields)
	for _, w := range ev.Writes {
		f := *w.Field
		f.Type.Optional = w.Optional
		out = append(out, &f)
	}
	return out
}

// scope is what names mean while a clause or an expression is read.
type scope struct {
	record *Record
	event  *ir.Event
	args   []ir.Value
	// overlay: record fields that the event writes read the incoming value.
	overlay bool
	actor   Actor
	now     time.Time
	params  map[*ir.Param]ir.Value
	state   *ir.State
	from    *ir.State // nil: absent
}

func (s *scope) read(o *ir.Operand) ir.Value {
	switch {
	case o.IsLit:
		return o.Literal
	case o.Param != nil:
		if v, ok := s.params[o.Param]; ok {
			return v
		}
		return o.Param.Default
	case o.Special != "":
		return s.special(o.Special)
	case o.Event != nil:
		return s.eventField(o.Field)
	}
	if s.overlay && s.event != nil {
		for i, w := range s.event.Writes {
			if w.Field == o.Field {
				return s.args[len(s.event.Fields)+i]
			}
		}
	}
	return s.record.Get(o.Field)
}

func (s *scope) special(name ir.Special) ir.Value {
	switch {
	case name == ir.Now:
		return s.now
	case name == ir.ActorID:
		return s.actor.ID
	case name == ir.StateName && s.state != nil:
		return s.state.Text
	case name == ir.FromName && s.from != nil:
		return s.from.Text
	}
	return nil
}

func (s *scope) eventField(f *ir.Field) ir.Value {
	if s.event == nil {
		return nil
	}
	if i := slices.Index(s.event.Fields, f); i >= 0 {
		return s.args[i]
	}
	return nil
}
