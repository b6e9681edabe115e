package golang

import (
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/naming"
)

// generator holds what all emitters of one machine look up.
type generator struct {
	m       *ir.Machine
	o       Options
	fsmPath string
	// transition names the constant of every row that is not a rejection.
	transition map[*ir.Row]string
	// taken are those rows in order of their constants.
	taken []*ir.Row
	// readsParams tells the events whose step, or whose raised steps, read a
	// param.
	readsParams map[*ir.Event]bool
	patterns    *patterns
}

func newGenerator(m *ir.Machine, o Options) *generator {
	g := &generator{m: m, o: o, fsmPath: o.Module + "/runtime/fsm", patterns: newPatterns(m)}
	g.nameTransitions()
	g.readsParams = paramReaders(m)
	return g
}

// fsm names an identifier of runtime/fsm.
func (g *generator) fsm(name string) *jen.Statement { return jen.Qual(g.fsmPath, name) }

// nameTransitions gives each row its constant: the name of the spec row, with
// the source state or the event behind it where the spec row expands over
// several.
func (g *generator) nameTransitions() {
	groups := map[int][]*ir.Row{}
	for _, row := range g.m.Rows {
		groups[row.Group] = append(groups[row.Group], row)
	}
	g.transition = map[*ir.Row]string{}
	for _, row := range g.m.Rows {
		if row.Reject != nil {
			continue
		}
		var froms, events bool
		for _, other := range groups[row.Group] {
			froms = froms || other.From != row.From
			events = events || other.Event != row.Event
		}
		name := naming.GoTransition.Of(row.Text)
		if froms && row.From != nil {
			name += naming.Exported(row.From.Text)
		}
		if events {
			name += naming.Exported(row.Event.Text)
		}
		g.transition[row] = name
		g.taken = append(g.taken, row)
	}
}

// paramReaders returns the events that need the params: some row of theirs
// reads one, or raises an event that does.
func paramReaders(m *ir.Machine) map[*ir.Event]bool {
	reads := map[*ir.Event]bool{}
	for _, row := range m.Rows {
		if rowReadsParam(row) {
			reads[row.Event] = true
		}
	}
	for changed := true; changed; {
		changed = false
		for _, row := range m.Rows {
			if row.Raise != nil && reads[row.Raise.Event] && !reads[row.Event] {
				reads[row.Event], changed = true, true
			}
		}
	}
	return reads
}

func rowReadsParam(row *ir.Row) bool {
	for _, c := range row.When {
		if c.Left.Param != nil || c.Right.Param != nil {
			return true
		}
	}
	exprs := decided(row)
	if row.Raise != nil {
		for _, a := range row.Raise.Args {
			exprs = append(exprs, &a.Value)
		}
	}
	for _, x := range exprs {
		if x.A.Param != nil || x.B.Param != nil {
			return true
		}
	}
	return false
}

// rowsOf returns the rows of (state, event) in the order in which they are
// tried: priority, then spec order, `otherwise` rows last.
func (g *generator) rowsOf(from *ir.State, ev *ir.Event) []*ir.Row {
	var first, last []*ir.Row
	for _, row := range g.m.Rows {
		switch {
		case row.From != from || row.Event != ev:
		case row.Otherwise:
			last = append(last, row)
		default:
			first = append(first, row)
		}
	}
	byPriority(first)
	byPriority(last)
	return append(first, last...)
}

// creates reports whether ev creates records.
func (g *generator) creates(ev *ir.Event) bool { return len(g.rowsOf(nil, ev)) > 0 }

// acts reports whether some row of ev leaves from a state.
func (g *generator) acts(ev *ir.Event) bool {
	for _, row := range g.m.Rows {
		if row.Event == ev && row.From != nil {
			return true
		}
	}
	return false
}

// raises reports whether some row of ev raises, creation rows counted when
// creation is true and the others when it is false.
func (g *generator) raises(ev *ir.Event, creation bool) bool {
	for _, row := range g.m.Rows {
		if row.Event == ev && row.Raise != nil && (row.From == nil) == creation {
			return true
		}
	}
	return false
}

// public reports whether ev has a method of its own name.
func (g *generator) public(ev *ir.Event) bool { return !ev.Internal && g.acts(ev) }

func (g *generator) hasActors() bool { return len(g.m.Actors) > 0 }
func (g *generator) hasParams() bool { return len(g.m.Params) > 0 }

// roles lists the declared actors and the system.
func (g *generator) roles() []*ir.Actor {
	return append(append([]*ir.Actor{}, g.m.Actors...), &ir.Actor{
		Name:   ir.Name{Text: "system", Doc: "The engine and trusted services."},
		System: true,
	})
}

// comment renders a doc comment: a sentence that begins with the declared
// name, then the words of the spec.
func comment(sentence, doc string) *jen.Statement {
	lines := strings.Split(sentence, "\n")
	if doc = strings.TrimSpace(doc); doc != "" {
		lines = append(lines, "")
		lines = append(lines, strings.Split(doc, "\n")...)
	}
	s := &jen.Statement{}
	for _, line := range lines {
		line = strings.TrimSpace(strings.ReplaceAll(line, "\r", ""))
		s.Comment(strings.TrimRight("// "+line, " ")).Line()
	}
	return s
}

// declare adds a commented declaration to f.
func declare(f *jen.File, sentence, doc string, decl *jen.Statement) {
	f.Add(comment(sentence, doc).Add(decl))
	f.Line()
}
