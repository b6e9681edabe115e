package golang

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

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
	// first are the first rows that a row of the spec expands to; count tells how many there are.
	first map[expansion]*ir.Row
	count map[expansion]int
	// taken are those rows in order of their constants.
	taken []*ir.Row
	// rows are those of (state, event) in the order in which they are tried.
	rows map[stateEvent][]*ir.Row
	// eventRows are the rows of an event in spec order.
	eventRows map[*ir.Event][]*ir.Row
	// used are the effects and metrics that some row lists, and the cleanups.
	used map[ir.Action]bool
	// readsParams tells the events whose step, or whose raised steps, read a
	// param.
	readsParams map[*ir.Event]bool
	patterns    *patterns
}

// stateEvent is a cell of the table; a nil state is creation.
type stateEvent struct {
	state *ir.State
	event *ir.Event
}

// expansion are the rows that a row of the spec expands to on an event; a nil event stands for all.
type expansion struct {
	group int
	event *ir.Event
}

func newGenerator(m *ir.Machine, o Options) *generator {
	g := &generator{m: m, o: o, fsmPath: o.Module + "/runtime/fsm", patterns: newPatterns(m)}
	g.indexRows()
	g.nameTransitions()
	g.readsParams = paramReaders(m)
	return g
}

// fsm names an identifier of runtime/fsm.
func (g *generator) fsm(name string) *jen.Statement { return jen.Qual(g.fsmPath, name) }

// indexRows sorts the rows into the cells of the table: by priority, then spec
// order, `otherwise` rows last.
func (g *generator) indexRows() {
	g.rows, g.eventRows, g.used = map[stateEvent][]*ir.Row{}, map[*ir.Event][]*ir.Row{}, map[ir.Action]bool{}
	for _, row := range g.m.Rows {
		cell := stateEvent{row.From, row.Event}
		g.rows[cell] = append(g.rows[cell], row)
		g.eventRows[row.Event] = append(g.eventRows[row.Event], row)
		for _, a := range row.Actions {
			g.used[ir.Action{Effect: a.Effect, Metric: a.Metric}] = true
		}
	}
	for _, e := range g.m.Effects {
		if e.Cleanup != nil {
			g.used[ir.Action{Effect: e.Cleanup}] = true
		}
	}
	for _, rows := range g.rows {
		slices.SortStableFunc(rows, func(a, b *ir.Row) int {
			if a.Otherwise != b.Otherwise {
				if a.Otherwise {
					return 1
				}
				return -1
			}
			return b.Priority - a.Priority
		})
	}
}

// rowsOf returns the rows of (state, event) in the order in which they are
// tried.
func (g *generator) rowsOf(from *ir.State, ev *ir.Event) []*ir.Row {
	return g.rows[stateEvent{from, ev}]
}

// nameTransitions gives each row its constant: the name of the spec row, with
// the source state or the event behind it where the spec row expands over
// several.
func (g *generator) nameTransitions() {
	type group struct {
		first         *ir.Row
		froms, events bool // differ within the group
	}
	groups := map[int]*group{}
	for _, row := range g.m.Rows {
		if groups[row.Group] == nil {
			groups[row.Group] = &group{first: row}
		}
		x := groups[row.Group]
		x.froms = x.froms || row.From != x.first.From
		x.events = x.events || row.Event != x.first.Event
	}
	g.transition, g.first, g.count = map[*ir.Row]string{}, map[expansion]*ir.Row{}, map[expansion]int{}
	for _, row := range g.m.Rows {
		if row.Reject != nil {
			continue
		}
		name := naming.GoTransition.Of(row.Text)
		if groups[row.Group].froms && row.From != nil {
			name += naming.Exported(row.From.Text)
		}
		if groups[row.Group].events {
			name += naming.Exported(row.Event.Text)
		}
		g.transition[row] = name
		g.taken = append(g.taken, row)
		for _, x := range []expansion{{row.Group, nil}, {row.Group, row.Event}} {
			if g.count[x]++; g.count[x] == 1 {
				g.first[x] = row
			}
		}
	}
}

// expands reports whether the spec row of row leaves several states on its event.
func (g *generator) expands(row *ir.Row) bool {
	return row.From != nil && g.count[expansion{row.Group, row.Event}] > 1
}

// firstOf is the first of the rows that the spec row of row expands to on its event.
func (g *generator) firstOf(row *ir.Row) *ir.Row { return g.first[expansion{row.Group, row.Event}] }

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

// creates reports whether ev creates records.
func (g *generator) creates(ev *ir.Event) bool { return len(g.rowsOf(nil, ev)) > 0 }

// acts reports whether some row of ev leaves from a state.
func (g *generator) acts(ev *ir.Event) bool {
	return slices.ContainsFunc(g.eventRows[ev], func(row *ir.Row) bool { return row.From != nil })
}

// raises reports whether some row of ev raises, creation rows counted when
// creation is true and the others when it is false.
func (g *generator) raises(ev *ir.Event, creation bool) bool {
	return len(g.raising(ev, creation)) > 0
}

// raising lists these rows.
func (g *generator) raising(ev *ir.Event, creation bool) []*ir.Row {
	var out []*ir.Row
	for _, row := range g.eventRows[ev] {
		if row.Raise != nil && (row.From == nil) == creation {
			out = append(out, row)
		}
	}
	return out
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
	doc = strings.TrimSpace(doc)
	if joined := sentence + " " + doc; doc != "" && continues(joined, doc) {
		sentence, doc = joined, ""
	}
	lines := strings.Split(sentence, "\n")
	if doc != "" {
		lines = append(lines, "")
		lines = append(lines, strings.Split(doc, "\n")...)
	}
	s := &jen.Statement{}
	for _, line := range lines {
		s.Comment(commentLine(line)).Line()
	}
	return s
}

// continues reports whether doc is a sentence that can stand on the line of the one before.
func continues(joined, doc string) bool {
	const width = 120
	first, _ := utf8.DecodeRuneInString(doc)
	return len(joined) <= width && !strings.Contains(joined, "\n") && unicode.IsUpper(first)
}

// commentLine is a line of a doc as a comment. One that begins like a build
// constraint is quoted: gofmt would move it to the top of the file, and the go
// command obey it.
func commentLine(line string) string {
	line = strings.TrimSpace(strings.ReplaceAll(line, "\r", ""))
	if strings.HasPrefix(line, "+build") {
		line = strconv.Quote(line)
	}
	return strings.TrimRight("// "+line, " ")
}

// declare adds a commented declaration to f.
func declare(f *jen.File, sentence, doc string, decl *jen.Statement) {
	f.Add(comment(sentence, doc).Add(decl))
	f.Line()
}
