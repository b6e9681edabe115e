package ir

import (
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/gen/diag"
	"github.com/fsmgen/fsmgen/gen/syntax"
)

// declareStates declares the states; what they hold is resolved later.
func (lo *lowering) declareStates() {
	lo.resolveReferences()
	for _, e := range entries(lo.root.Get("states")) {
		s := &State{Name: declared(e.Key, e.Value), Index: len(lo.m.States), Kind: Kind(e.Value.TextOf("kind"))}
		s.Terminal = s.Kind == Terminal
		if t := e.Value.Get("terminal"); t != nil {
			s.Terminal = t.Text == "true"
		}
		s.Recoverable = !s.Terminal && slices.Contains(Kinds(), s.Kind) && !s.Kind.Reached() // gen/syntax reports another kind
		if r := e.Value.Get("recoverable"); r != nil {
			s.Recoverable = r.Text == "true"
		}
		lo.states[s.Text] = s
		lo.m.States = append(lo.m.States, s)
	}
	if len(lo.m.States) == 0 {
		lo.errorf(syntax.CodeShape, lo.m.Span, "declare at least one state of kind initial", "machine %q has no states", lo.m.Text)
	}
}

// declareEvents declares the events with what they carry.
func (lo *lowering) declareEvents() {
	for _, e := range entries(lo.root.Get("events")) {
		ev := &Event{Name: declared(e.Key, e.Value), Index: len(lo.m.Events)}
		ev.Source = EventSource(e.Value.TextOf("source"))
		ev.Internal = e.Value.TextOf("internal") == "true"
		ev.By = lo.actorList(e.Value.Get("by"), lo.defaultActors(ev))
		for _, f := range entries(e.Value.Get("fields")) {
			ev.Fields = append(ev.Fields, lo.field(f))
		}
		lo.declareWrites(ev, e.Value.Get("writes"))
		payload := byName(ev.Fields)
		for name, f := range lo.fields {
			payload[name] = f
		}
		if k := e.Value.Get("key"); k != nil {
			ev.Key = lo.template(k, payload)
		}
		ev.Lock = lo.lock(e.Value.Get("lock"), payload)
		lo.events[ev.Text] = ev
		lo.m.Events = append(lo.m.Events, ev)
	}
	if f := lo.root.Get("fatal"); f != nil {
		lo.m.Fatal, _ = lookup(lo, lo.events, "event", f)
	}
}

// defaultActors are those of an event without `by`: every actor, and for an
// internal event the system alone.
func (lo *lowering) defaultActors(ev *Event) []*Actor {
	if len(lo.m.Actors) == 0 {
		return nil
	}
	if ev.Internal {
		return []*Actor{lo.actors[systemActor]}
	}
	all := append([]*Actor{}, lo.m.Actors...)
	return append(all, lo.actors[systemActor])
}

func (lo *lowering) actorList(n *syntax.Node, otherwise []*Actor) []*Actor {
	if n == nil {
		return otherwise
	}
	if len(lo.m.Actors) == 0 {
		lo.errorf(CodeNotHere, n.Span, "declare `actors`, or leave `by` out", "machine %q declares no actors", lo.m.Text)
		return nil
	}
	var out []*Actor
	for _, item := range n.Each() {
		if a, ok := lookup(lo, lo.actors, "actor", item); ok {
			out = append(out, a)
		}
	}
	return out
}

func (lo *lowering) declareWrites(ev *Event, n *syntax.Node) {
	for _, item := range n.Each() {
		name, optional := strings.CutPrefix(item.Text, "optional ")
		at := item.TextSpan().Within(len(item.Text)-len(name), len(name))
		f, ok := lookupText(lo, lo.fields, "field", strings.TrimSpace(name), at)
		if !ok {
			continue
		}
		if optional && !f.Type.Optional {
			lo.errorf(CodeType, at, "make the field optional, or the write required", "field %q is required; an optional write could clear it", f.Text)
		}
		if f.Derive != nil || f == lo.m.ID {
			lo.errorf(CodeType, at, "leave it out", "field %q is never written by an event", f.Text)
			continue
		}
		ev.Writes = append(ev.Writes, Write{Field: f, Optional: optional, Span: at})
	}
}

func (lo *lowering) lock(n *syntax.Node, fields map[string]*Field) *Lock {
	if n == nil || n.Get("key") == nil {
		return nil
	}
	lo.duration(n.Get("ttl"))
	return &Lock{Key: lo.template(n.Get("key"), fields), TTL: n.TextOf("ttl"), Span: n.Span}
}

// resolveStates resolves entry, exit, holds and timeouts.
func (lo *lowering) resolveStates() {
	lo.m.Do = lo.actions(lo.root.Get("do"))
	for _, e := range entries(lo.root.Get("states")) {
		s := lo.states[e.Key.Text]
		s.Entry, s.Exit = lo.actions(e.Value.Get("entry")), lo.actions(e.Value.Get("exit"))
		s.Holds = lo.clauses(e.Value.Get("holds"), lo.recordNames("in holds"))
		s.Timeout = lo.timeout(e.Value.Get("timeout"))
	}
}

func (lo *lowering) actions(n *syntax.Node) []Action {
	var out []Action
	for _, item := range n.Each() {
		if m, ok := lo.metrics[item.Text]; ok {
			out = append(out, Action{Metric: m, Span: item.TextSpan()})
			continue
		}
		if e, ok := lookup(lo, lo.effects, "effect or metric", item); ok {
			out = append(out, Action{Effect: e, Span: item.TextSpan()})
		}
	}
	return out
}

func (lo *lowering) timeout(n *syntax.Node) *Timeout {
	if n == nil {
		return nil
	}
	t := &Timeout{Fire: lo.fire(n.Get("fire"), lo.stepNames("in a timeout")), Span: n.Span}
	after, at := n.Get("after"), n.Get("at")
	switch {
	case (after == nil) == (at == nil):
		lo.errorf(syntax.CodeShape, n.Span, "write `after: DURATION` or `at: FIELD`", "a timeout has exactly one of after and at")
		return nil
	case at != nil:
		f, ok := lookup(lo, lo.fields, "field", at)
		if ok && f.Type.Base != Time {
			lo.errorf(CodeType, at.TextSpan(), "name a field of type time", "field %q has type %s", f.Text, f.Type)
		}
		t.At = f
	default:
		t.After = lo.after(after)
	}
	if t.Fire == nil || t.After == nil && t.At == nil {
		return nil
	}
	return t
}

// after reads the duration of a timeout: a literal, $param or $field.
func (lo *lowering) after(n *syntax.Node) *Operand {
	at := n.TextSpan()
	if strings.HasPrefix(n.Text, "$") {
		o, ok := lo.named(n.Text, at, &names{fields: lo.fields, params: lo.params, place: "in a timeout"})
		if ok && o.Type.Base != Duration {
			lo.errorf(CodeType, at, "name a param or field of type duration", "%s has type %s", n.Text, o.Type)
			return nil
		}
		if !ok {
			return nil
		}
		return &o
	}
	d, ok := lo.duration(n)
	if !ok {
		return nil
	}
	return &Operand{Literal: d, IsLit: true, Type: Type{Base: Duration}, Text: n.Text, Span: at}
}

// deriveSources fills in where each event comes from, where the spec does not
// say it.
func (lo *lowering) deriveSources() {
	answers := map[*Event]bool{}
	for _, e := range lo.m.Effects {
		for _, f := range append([]*Fire{e.Fails, e.Lost}, e.Returns...) {
			if f != nil {
				answers[f.Event] = true
			}
		}
	}
	for _, ev := range lo.m.Events {
		switch {
		case ev.Source != "":
		case ev.Internal:
			ev.Source = Internal
		case answers[ev]:
			ev.Source = Answer
		case len(ev.By) == 1 && ev.By[0].System:
			ev.Source = Orchestrator
		default:
			ev.Source = External
		}
	}
}

// spanOf is the place of key in n, or of n itself.
func spanOf(n *syntax.Node, key string) diag.Span {
	for _, e := range n.Entries {
		if e.Key.Text == key {
			return e.Key.Span
		}
	}
	return n.Span
}
