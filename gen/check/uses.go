package check

import "github.com/fsmgen/fsmgen/gen/ir"

// uses records what the declarations of all machines are used for, by
// pointer.
type uses struct {
	read    map[*ir.Field]bool // fields and columns
	written map[*ir.Field]bool
	names   map[any]bool // params, enums, actors, failures, effects, metrics, events, tables
	fired   map[*ir.Event]bool
}

func usesOf(machines []*ir.Machine) *uses {
	u := &uses{map[*ir.Field]bool{}, map[*ir.Field]bool{}, map[any]bool{}, map[*ir.Event]bool{}}
	for _, m := range machines {
		u.declarations(m)
		u.behaviour(m)
		for _, e := range m.Effects {
			u.effect(e)
		}
		for _, metric := range m.Metrics {
			u.payloads(metric.Labels)
			u.clauses(metric.When)
			if metric.Value != nil {
				u.expr(metric.Value)
			}
		}
		u.invariants(m)
	}
	return u
}

func (u *uses) declarations(m *ir.Machine) {
	if m.Fatal != nil {
		u.fired[m.Fatal] = true
	}
	for _, p := range m.Params {
		u.typ(p.Type)
	}
	for _, a := range m.Actors {
		u.field(a.Is)
	}
	u.fields(m.Fields)
	for _, q := range m.Uniques {
		for _, f := range q.Fields {
			u.field(f)
		}
	}
	for _, t := range m.Tables {
		u.fields(t.Columns)
		for _, c := range t.Columns {
			u.names[c.Ref] = true
		}
	}
	for _, e := range m.Events {
		u.fields(e.Fields)
		for _, w := range e.Writes {
			u.written[w.Field] = true
		}
		for _, a := range e.By {
			u.names[a] = true
		}
		u.template(e.Key)
		u.lock(e.Lock)
	}
}

func (u *uses) behaviour(m *ir.Machine) {
	for _, st := range m.States {
		u.clauses(st.Holds)
		u.actions(st.Entry)
		u.actions(st.Exit)
		if t := st.Timeout; t != nil {
			if t.After != nil {
				u.operand(t.After)
			}
			u.field(t.At)
			u.fire(t.Fire)
		}
	}
	u.actions(m.Do)
	for _, r := range m.Rows {
		u.clauses(r.When)
		u.actions(r.Do)
		u.fire(r.Raise)
		u.names[r.Reject] = true
		u.names[r.Event] = true
		for _, a := range r.By {
			u.names[a] = true
		}
		for i := range r.Set {
			u.written[r.Set[i].Target] = true
			u.expr(&r.Set[i].Value)
		}
	}
}

func (u *uses) invariants(m *ir.Machine) {
	for _, inv := range m.Invariants {
		for _, f := range inv.Immutable {
			u.field(f)
		}
		u.clauses(inv.Always)
		if inv.Never != nil {
			u.clauses(inv.Never.Unless)
		}
	}
}

func (u *uses) effect(e *ir.Effect) {
	u.payloads(e.With)
	for _, f := range e.Returns {
		u.fire(f)
	}
	u.fire(e.Fails)
	u.fire(e.Lost)
	u.names[e.Cleanup] = true
	u.names[e.Retry] = true
	u.names[e.Table] = true
	u.lock(e.Lock)
	for i := range e.Row {
		u.expr(&e.Row[i].Value)
		u.written[e.Row[i].Column] = true
	}
}

func (u *uses) fields(fields []*ir.Field) {
	for _, f := range fields {
		u.typ(f.Type)
		u.template(f.Derive)
	}
}

func (u *uses) typ(t ir.Type) {
	if t.Enum != nil {
		u.names[t.Enum] = true
	}
	if t.Elem != nil {
		u.typ(*t.Elem)
	}
}

func (u *uses) template(t *ir.Template) {
	if t == nil {
		return
	}
	for _, p := range t.Parts {
		u.field(p.Field)
	}
}

func (u *uses) lock(l *ir.Lock) {
	if l != nil {
		u.template(l.Key)
	}
}

func (u *uses) actions(actions []ir.Action) {
	for _, a := range actions {
		u.names[a.Effect] = true
		u.names[a.Metric] = true
	}
}

func (u *uses) fire(f *ir.Fire) {
	if f == nil {
		return
	}
	u.fired[f.Event] = true
	for i := range f.Args {
		u.expr(&f.Args[i].Value)
	}
}

func (u *uses) payloads(with []ir.Payload) {
	for i := range with {
		u.expr(&with[i].Value)
	}
}

func (u *uses) clauses(clauses []*ir.Clause) {
	for _, c := range clauses {
		u.operand(&c.Left)
		u.operand(&c.Right)
	}
}

func (u *uses) expr(e *ir.Expr) {
	u.operand(&e.A)
	u.operand(&e.B)
}

func (u *uses) operand(o *ir.Operand) {
	u.field(o.Field)
	if o.Param != nil {
		u.names[o.Param] = true
	}
}

func (u *uses) field(f *ir.Field) {
	if f != nil {
		u.read[f] = true
	}
}
