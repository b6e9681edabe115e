package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/gen/ir"
)

const (
	codeStartUnbound  = "FSM084"
	codeStartCircular = "FSM085"
)

// starts checks effects that create a record of another machine against the
// creation row there.
func (s *subject) starts() {
	for _, e := range s.m.Effects {
		if e.Kind != ir.Start || e.Machine == nil {
			continue
		}
		row := ir.Creation(e.Machine)
		if row == nil {
			continue
		}
		if !systemMay(row.By) {
			s.report(codeNotSystem, e.Span, fmt.Sprintf("add system to the `by` of event %q of machine %q", row.Event.Text, e.Machine.Text),
				"effect %q fires %s of machine %q as `system`, which may not fire it", e.Text, row.Event.Text, e.Machine.Text)
		}
		for _, f := range row.Event.Fields {
			s.startValue(e, row.Event, f, f.Type.Optional || f.HasDefault)
		}
		for _, w := range row.Event.Writes {
			s.startValue(e, row.Event, w.Field, w.Optional)
		}
	}
}

func (s *subject) startValue(e *ir.Effect, ev *ir.Event, f *ir.Field, optional bool) {
	if optional {
		return
	}
	i := slices.IndexFunc(e.With, func(p ir.Payload) bool { return p.Name == f.Text })
	if i < 0 {
		s.report(codeStartUnbound, e.Span, fmt.Sprintf("bind %q in `with`", f.Text), "effect %q starts machine %q without %q, which %s needs", e.Text, e.Machine.Text, f.Text, ev.Text)
		return
	}
	if r := s.absentIn(e, &e.With[i].Value); r != nil {
		s.report(codeStartUnbound, e.With[i].Span, "let the state that the row ends in hold \"… exists true\"",
			"%s may be absent when row %q starts machine %q, but %s needs %q", e.With[i].Value.Text, r.Text, e.Machine.Text, ev.Text, f.Text)
	}
}

// startCycles reports machines whose creation starts each other without end.
func startCycles(machines []*ir.Machine, r reporter) {
	mark := map[*ir.Machine]int{}
	const (
		open = iota + 1
		done
	)
	var path []string
	var visit func(m *ir.Machine)
	visit = func(m *ir.Machine) {
		mark[m] = open
		path = append(path, m.Text)
		for _, e := range startedAtOnce(m) {
			switch mark[e.Machine] {
			case open:
				at := slices.Index(path, e.Machine.Text)
				r.report(codeStartCircular, e.Span, "start the other machine from a later row", "creating a record never ends: %s", strings.Join(append(path[at:len(path):len(path)], e.Machine.Text), " -> "))
			case 0:
				visit(e.Machine)
			}
		}
		path = path[:len(path)-1]
		mark[m] = done
	}
	for _, m := range machines {
		if mark[m] == 0 {
			visit(m)
		}
	}
}

// startedAtOnce lists the start effects of the creation rows of m.
func startedAtOnce(m *ir.Machine) []*ir.Effect {
	var out []*ir.Effect
	for _, row := range m.Rows {
		if row.From != nil {
			continue
		}
		for _, a := range row.Actions {
			if a.Effect != nil && a.Effect.Kind == ir.Start && a.Effect.Machine != nil {
				out = append(out, a.Effect)
			}
		}
	}
	return out
}
