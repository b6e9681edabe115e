package ir

import (
	"slices"
	"strconv"

	"github.com/fsmgen/fsmgen/gen/syntax"
)

const (
	defaultPriority  = 10 // document 001, Transition Table
	wildcardPriority = 0
	wildcard         = "*"
	creationSource   = "none"
)

// resolveRows expands every spec row into one row per source state and event.
func (lo *lowering) resolveRows() {
	for group, n := range lo.root.Get("transitions").Each() {
		if n.Kind != syntax.Map {
			continue // reported with the shape
		}
		sources := lo.sources(n.Get("from"))
		for _, on := range n.Get("on").Each() {
			ev, ok := lookup(lo, lo.events, "event", on)
			if !ok {
				continue
			}
			proto, ok := lo.row(n, ev, group)
			if !ok {
				continue
			}
			for _, from := range sources.states {
				if lo.rowsTooMany(proto.Span) {
					return
				}
				r := *proto
				r.From, r.Wildcard, r.Index = from, sources.wildcard, len(lo.m.Rows)
				r.Actions = r.ordered(lo.m.Do)
				if from == nil && r.To != nil {
					r.To.Initial = true
				}
				lo.m.Rows = append(lo.m.Rows, &r)
			}
		}
	}
}

// sourceSet is the meaning of `from`: states, with nil for creation.
type sourceSet struct {
	states   []*State
	wildcard bool
}

func (lo *lowering) sources(n *syntax.Node) sourceSet {
	var set sourceSet
	if n == nil {
		return set
	}
	if n.Kind == syntax.Null {
		lo.errorf(syntax.CodeShape, n.Span, "write `from: none` for creation, or the state", "an empty `from` may be a forgotten value")
		return set
	}
	for _, item := range n.Each() {
		switch item.Text {
		case creationSource:
			set.states = append(set.states, nil)
		case wildcard:
			set.wildcard = true
			for _, s := range lo.m.States {
				if !s.Terminal {
					set.states = append(set.states, s)
				}
			}
		default:
			if s, ok := lookup(lo, lo.states, "state", item); ok {
				set.states = append(set.states, s)
			}
		}
	}
	return set
}

// row lowers everything of a spec row that does not depend on its source.
func (lo *lowering) row(n *syntax.Node, ev *Event, group int) (*Row, bool) {
	r := &Row{Event: ev, Group: group, Priority: defaultPriority, Otherwise: n.TextOf("otherwise") == "true"}
	r.Name = Name{Text: n.TextOf("name"), Doc: n.TextOf("doc"), Span: n.Span}
	if r.Doc == "" {
		r.Doc = n.Comment
	}
	if name := n.Get("name"); name != nil {
		r.Span = name.TextSpan()
	}
	if from := n.Get("from"); from != nil && from.Text == wildcard {
		r.Priority = wildcardPriority
	}
	if p := n.TextOf("priority"); p != "" {
		r.Priority, _ = strconv.Atoi(p)
	}
	r.By = lo.actorList(n.Get("by"), ev.By)
	for _, a := range r.By {
		if !slices.Contains(ev.By, a) {
			lo.errorf(CodeNotHere, spanOf(n, "by"), "add it to `by` of the event", "actor %q may not fire event %q", a.Text, ev.Text)
		}
	}
	scope := lo.rowNames(ev)
	r.When = lo.clauses(n.Get("when"), scope)
	if r.Otherwise && n.Get("when") != nil {
		lo.errorf(syntax.CodeShape, spanOf(n, "when"), "leave out one of the two", "a row has `when` or `otherwise`, not both")
	}
	if to := n.Get("to"); to != nil {
		r.To, _ = lookup(lo, lo.states, "state", to)
	}
	if c := n.Get("reject"); c != nil {
		r.Reject, _ = lookup(lo, lo.failures, "failure class", c)
		for _, key := range []string{"to", "set", "do", "raise"} {
			if n.Get(key) != nil {
				lo.errorf(syntax.CodeShape, spanOf(n, key), "leave out `"+key+"`, or `reject`", "a row that rejects stores nothing and does nothing")
			}
		}
	}
	lo.assignments(r, n.Get("set"), scope)
	r.Do = lo.actions(n.Get("do"))
	if raise := n.Get("raise"); raise != nil {
		r.Raise = lo.fire(raise, lo.stepNames("in a raise"))
	}
	return r, lo.creatable(r, n)
}

// creatable reports a creation row that creates nothing.
func (lo *lowering) creatable(r *Row, n *syntax.Node) bool {
	from := n.Get("from")
	if from != nil && from.Text == creationSource && n.Get("to") == nil && r.Reject == nil {
		lo.errorf(syntax.CodeMissingKey, r.Span, "add `to:` with the state that records are created in", "a creation row needs a target")
		return false
	}
	return true
}

func (lo *lowering) assignments(r *Row, n *syntax.Node, scope *names) {
	for _, e := range entries(n) {
		f, ok := lookup(lo, lo.fields, "field", e.Key)
		if !ok {
			continue
		}
		if f.Derive != nil || f == lo.m.ID {
			lo.errorf(CodeType, e.Key.TextSpan(), "leave it out", "field %q is never assigned", f.Text)
			continue
		}
		want := f.Type
		if e.Value.Kind != syntax.Null {
			want.Optional = true // presence is judged with the guards
		}
		if v, ok := lo.expr(e.Value, want, scope); ok {
			r.Set = append(r.Set, Assign{Target: f, Value: v, Span: e.Key.TextSpan()})
		}
	}
}

// ordered is the one place that decides the order of effects: exit, row,
// entry, machine (DESIGN, section 2, decision 1).
func (r *Row) ordered(machine []Action) []Action {
	if r.Reject != nil {
		return nil
	}
	var out []Action
	if r.To != nil && r.From != nil {
		out = append(out, r.From.Exit...)
	}
	out = append(out, r.Do...)
	if r.To != nil {
		out = append(out, r.To.Entry...)
	}
	return append(out, machine...)
}

// addSyntheticCreation gives a machine without a `from: none` row one that
// creates a record in the first state of kind initial and takes every
// required field without a default.
func (lo *lowering) addSyntheticCreation() {
	if Creation(lo.m) != nil {
		return
	}
	var first *State
	for _, s := range lo.m.States {
		if s.Kind == Initial && first == nil {
			first = s
		}
	}
	if first == nil {
		if len(lo.m.States) > 0 {
			lo.errorf(syntax.CodeMissingKey, lo.m.States[0].Span, "give the first state `kind: initial`, or write a row `from: none`", "nothing creates a record: no state is initial and no row is from none")
		}
		return
	}
	const name = "create"
	if lo.events[name] != nil {
		lo.errorf(syntax.CodeDuplicate, lo.events[name].Span, "write the row {name: create, from: none, on: create, to: "+first.Text+"}, or rename the event", "event \"create\" exists, but no row is from none")
		return
	}
	ev := &Event{Name: Name{Text: name, Doc: "Creates a record.", Span: first.Span}, Index: len(lo.m.Events), Source: "external"}
	ev.By = lo.defaultActors(ev)
	for _, f := range lo.m.Fields {
		if !f.Type.Optional && !f.HasDefault && f.Derive == nil {
			ev.Writes = append(ev.Writes, Write{Field: f, Span: f.Span})
		}
	}
	r := &Row{Name: Name{Text: name, Span: first.Span}, Group: -1, Event: ev, By: ev.By, Priority: defaultPriority, To: first}
	r.Actions = r.ordered(lo.m.Do)
	first.Initial = true
	lo.events[name] = ev
	lo.m.Events = append(lo.m.Events, ev)
	lo.m.Rows = append([]*Row{r}, lo.m.Rows...)
	for i, row := range lo.m.Rows {
		row.Index = i
	}
}
