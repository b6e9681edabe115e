package simulate

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/interp"
	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// generator makes up events of a record. Half of them make sense.
type generator struct {
	rng    *rng
	table  *ir.Machine
	record *interp.Record // nil: not created
	now    time.Time
}

// event makes up a payload of ev.
func (a generator) event(ev *ir.Event) fsm.Event {
	var args []ir.Value
	for _, f := range interp.Payload(ev) {
		args = append(args, a.value(f))
	}
	return fsm.Event{Name: ev.Text, Payload: interp.MarshalPayload(ev, args)}
}

// answer makes up an answer as an effect declares it.
func (a generator) answer(f *ir.Fire) fsm.Event {
	var args []ir.Value
	for _, field := range interp.Payload(f.Event) {
		v := a.value(field)
		for _, bound := range f.Args {
			if bound.Target.Text == field.Text {
				v, _ = domain.EvalExpr(&bound.Value, a.read)
			}
		}
		args = append(args, v)
	}
	return fsm.Event{Name: f.Event.Text, Payload: interp.MarshalPayload(f.Event, args)}
}

// read returns the value of an operand: a literal, a param, or a field of the record.
func (a generator) read(o *ir.Operand) ir.Value {
	switch {
	case o.IsLit:
		return o.Literal
	case o.Param != nil:
		return o.Param.Default
	case o.Field != nil && a.record != nil:
		return a.record.Get(o.Field)
	}
	return nil
}

// value makes up a value of a field. Now and then it is absent where it must not be. Often
// the record or a clause of the table has it.
func (a generator) value(f *ir.Field) ir.Value {
	if f.Type.Optional && a.rng.chance(150) {
		return nil
	}
	var known []ir.Value
	if a.record != nil {
		for _, other := range a.table.Fields {
			if v := a.record.Get(other); v != nil && other.Type.Base == f.Type.Base && other.Type.Enum == f.Type.Enum {
				known = append(known, v)
			}
		}
	}
	known = append(known, constants(a.table, f)...)
	v := a.any(f.Type)
	if len(known) > 0 && f.Type.Base != ir.ListOf && a.rng.chance(600) {
		v = oneOf(a.rng, known)
	}
	if a.rng.chance(950) {
		v = within(f, v)
	}
	return v
}

// within brings a value into the bounds of a field.
func within(f *ir.Field, v ir.Value) ir.Value {
	least, most := int64(math.MinInt32), int64(math.MaxInt32)
	if f.Min != nil {
		least = *f.Min
	}
	if f.Max != nil {
		most = *f.Max
	}
	switch v := v.(type) {
	case int64:
		return min(max(v, least), most)
	case string:
		if f.Type.Base == ir.String {
			v += strings.Repeat("-", max(0, int(least)-len(v)))
			return v[:min(len(v), int(most))]
		}
	}
	return v
}

// any makes up a value of a type.
func (a generator) any(t ir.Type) ir.Value {
	switch t.Base {
	case ir.Bool:
		return a.rng.chance(600)
	case ir.Int:
		return oneOf(a.rng, []ir.Value{int64(0), int64(1), int64(2), int64(100), int64(-1)})
	case ir.EnumOf:
		return oneOf(a.rng, t.Enum.Values).Text
	case ir.Time:
		return fsm.Instant(a.now.Add(oneOf(a.rng, []time.Duration{-time.Hour, time.Second, time.Minute, 3 * time.Hour, 100 * time.Hour})))
	case ir.Duration:
		return oneOf(a.rng, []ir.Value{time.Second, time.Minute, time.Hour})
	case ir.UUID:
		return domain.UUID(a.rng.below(4))
	case ir.JSON:
		return oneOf(a.rng, []ir.Value{`{}`, `{"a":1}`, `[1,"two"]`})
	case ir.ListOf:
		list := []any{}
		for range a.rng.below(3) {
			list = append(list, a.any(*t.Elem))
		}
		return list
	case ir.String:
		return oneOf(a.rng, []ir.Value{"a", "b", "c", "d", "e", `f"'`})
	}
	panic(ir.NoForm("simulate.any", t.Base))
}

// constants lists the values that the table compares a field with.
func constants(table *ir.Machine, f *ir.Field) []ir.Value {
	var out []ir.Value
	clauses := func(list []*ir.Clause) {
		for _, c := range list {
			if c.Left.Field != nil && c.Left.Field.Text == f.Text && c.Right.IsLit && !c.Op.Presence() && !c.Op.LooksInside() {
				if list, ok := c.Right.Literal.([]any); ok {
					out = append(out, list...)
				} else {
					out = append(out, c.Right.Literal)
				}
			}
		}
	}
	for _, r := range table.Rows {
		clauses(r.When)
	}
	for _, s := range table.States {
		clauses(s.Holds)
	}
	return out
}

// caller makes up a caller: a role of the table or the system, a party of the record or a
// stranger.
func (a generator) caller() fsm.Caller {
	if len(a.table.Actors) == 0 {
		return oneOf(a.rng, []fsm.Caller{{}, {Role: "stranger", ID: "s-1"}})
	}
	machines := append(slices.Clone(a.table.Actors), interp.System().Role)
	r := oneOf(a.rng, machines)
	switch {
	case r.System:
		return fsm.System()
	case r.Is != nil && a.record != nil && a.record.Get(r.Is) != nil && a.rng.chance(850):
		return fsm.Caller{Role: r.Text, ID: fmt.Sprint(a.record.Get(r.Is))}
	case actorBase(a.table) == ir.Int:
		return fsm.Caller{Role: r.Text, ID: strconv.Itoa(a.rng.below(4))}
	case a.rng.chance(100):
		return fsm.Caller{Role: r.Text}
	}
	return fsm.Caller{Role: r.Text, ID: fmt.Sprint("u-", a.rng.below(3))}
}

// actorBase is the type of the ids of a table's actors.
func actorBase(table *ir.Machine) ir.Base {
	for _, a := range table.Actors {
		if a.Is != nil {
			return a.Is.Type.Base
		}
	}
	return ir.String
}

// actor returns a caller in the form of the interpreter.
func actor(table *ir.Machine, c fsm.Caller) (interp.Actor, error) {
	if len(table.Actors) == 0 {
		return interp.Actor{}, nil
	}
	out := interp.Actor{}
	if c.Role == interp.System().Role.Text {
		out = interp.System()
	}
	for _, a := range table.Actors {
		if a.Text == c.Role {
			out.Role = a
		}
	}
	if out.Role == nil {
		return out, fmt.Errorf("there is no role %q", c.Role)
	}
	switch {
	case c.ID == "":
	case actorBase(table) == ir.Int:
		n, err := strconv.ParseInt(c.ID, 10, 64)
		if err != nil {
			return out, fmt.Errorf("id of %s: %w", c.Role, err)
		}
		out.ID = n
	default:
		out.ID = c.ID
	}
	return out, nil
}

// known converts a generated record into one of the interpreter.
func known(table *ir.Machine, r fsm.Record) (*interp.Record, error) {
	if r == nil {
		return nil, nil
	}
	text, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("record of %s: %w", table, err)
	}
	return interp.UnmarshalRecord(table, text)
}
