package check

import (
	"fmt"

	"github.com/fsmgen/fsmgen/gen/ir"
)

const (
	codeUnused       = "FSM010"
	codeShadow       = "FSM015"
	codeUnhandled    = "FSM016"
	codeNeverFired   = "FSM017"
	codeNeverWritten = "FSM018"
)

// unused reports declarations that nothing refers to. Fields of events are
// exempt: the history keeps them. So are enum values: they are a vocabulary.
func (s *subject) unused() {
	m, u := s.m, s.uses
	for _, e := range m.Enums {
		s.demand(u.names[e], "enum", e.Name, "give it to a field as its type")
	}
	for _, p := range m.Params {
		s.demand(u.names[p], "param", p.Name, fmt.Sprintf("read it as $%s", p.Text))
	}
	for _, a := range m.Actors {
		s.demand(u.names[a], "actor", a.Name, "name it in the `by` of an event or a row")
	}
	for _, f := range m.Failures {
		s.demand(u.names[f], "failure class", f.Name, "name it in the `retry` of an effect or the `reject` of a row")
	}
	for _, e := range m.Effects {
		s.demand(u.names[e], "effect", e.Name, "name it in a `do`, `entry` or `exit`")
	}
	for _, x := range m.Metrics {
		s.demand(!x.Of.ByRows() || u.names[x], "metric", x.Name, "name it in a `do`, `entry` or `exit`, or say what it is measured `of`")
	}
	for _, t := range m.Tables {
		s.demand(u.names[t], "table", t.Name, "write it with an upsert, update or delete effect")
	}
	for _, f := range m.Fields {
		s.demand(u.read[f] || u.written[f] || f.Derive != nil, "field", f.Name, "write it by an event or a row, or read it")
	}
	for _, e := range s.writtenEvents() {
		s.demandEvent(e)
	}
	for _, f := range m.Fields {
		if u.read[f] && !u.written[f] && f.Type.Optional && !f.HasDefault && f.Derive == nil {
			s.report(codeNeverWritten, f.Span, "write it by an event or `set` it in a row",
				"field %q is read, but nothing writes it: it is always absent", f.Text)
		}
	}
}

func (s *subject) demand(used bool, kind string, n ir.Name, help string) {
	if !used {
		s.report(codeUnused, n.Span, help+", or remove it", "%s %q is not used", kind, n.Text)
	}
}

func (s *subject) demandEvent(e *ir.Event) {
	if !s.uses.names[e] {
		s.report(codeUnhandled, e.Span, "write a row that is `on` it, or remove it", "no row handles event %q", e.Text)
	}
	if e.Internal && !s.uses.fired[e] {
		s.report(codeNeverFired, e.Span, "raise it, let a timeout fire it or an effect answer with it, or drop `internal`",
			"event %q is internal, but nothing fires it", e.Text)
	}
}

// shadowing reports names that two things of one clause could mean.
func (s *subject) shadowing() {
	taken := map[string]string{
		"now": "the special $now", "actor": "the special $actor", "state": "the special $state",
		"from": "the special $from", "error": "the special $error",
	}
	own := func(kind string, n ir.Name) {
		if what, clash := taken[n.Text]; clash {
			s.report(codeShadow, n.Span, "give it another name", "%s %q has the name of %s", kind, n.Text, what)
			return
		}
		taken[n.Text] = kind + fmt.Sprintf(" %q, declared at %d:%d", n.Text, n.Span.Start.Line, n.Span.Start.Col)
	}
	own("the id", s.m.ID.Name)
	for _, f := range s.m.Fields {
		own("field", f.Name)
	}
	for _, p := range s.m.Params {
		own("param", p.Name)
	}
	delete(taken, "error") // $error is known in fails alone, where no event is read
	for _, e := range s.m.Events {
		for _, f := range e.Fields {
			if what, clash := taken[f.Text]; clash {
				s.report(codeShadow, f.Span, "give the event's field another name, or carry the record's field with `writes`",
					"field %q of event %q has the name of %s", f.Text, e.Text, what)
			}
		}
	}
}
