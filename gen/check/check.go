// Package check holds the rules that a machine must obey beyond having names
// that resolve: one file per family, one code per rule, all of them listed by
// [Rules].
//
// It reads the IR and adds to a list; it changes nothing and knows neither
// YAML nor what the back ends emit, except for the identifiers that package
// naming derives. Where a rule asks about values (can two rows hold at once?
// does a row keep the promises of its target?) it enumerates the classes of
// values that the clauses can tell apart (package domain). A finding of that
// kind always comes with values that show it.
package check

import (
	"slices"

	"github.com/fsmgen/fsmgen/gen/diag"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// Check applies every rule to every machine and adds what it finds to l. The
// machines must have been lowered together and without an error.
func Check(machines []*ir.Machine, l *diag.List) {
	severity := severities()
	uses := usesOf(machines)
	for _, m := range machines {
		s := newSubject(m, l, severity, uses)
		for _, rule := range machineRules {
			rule(s)
		}
	}
	checkTogether(machines, reporter{l, severity})
}

// machineRules run in this order; the order does not change what they find.
var machineRules = [...]func(*subject){
	(*subject).unused, (*subject).goNames, (*subject).sqlNames, (*subject).shadowing,
	(*subject).contract, (*subject).reachable, (*subject).terminal,
	(*subject).impossible, (*subject).overlap, (*subject).neverChosen, (*subject).coverage, (*subject).strict,
	(*subject).deadlines, (*subject).clock, (*subject).fires, (*subject).raises,
	(*subject).effects, (*subject).twice, (*subject).answers, (*subject).fatal, (*subject).orders, (*subject).givenUp,
	(*subject).invariants, (*subject).holds,
	(*subject).defaults, (*subject).creation, (*subject).assignments, (*subject).writeOnce, (*subject).bounds, (*subject).derives,
	(*subject).uniques, (*subject).tableRows, (*subject).references, (*subject).starts,
	(*subject).metrics,
}

// reporter adds findings with the severity that the table of codes names.
type reporter struct {
	list     *diag.List
	severity map[diag.Code]diag.Severity
}

func (r reporter) report(code diag.Code, at diag.Span, help, format string, args ...any) {
	if r.severity[code] == diag.Warning {
		r.list.Warnf(code, at, help, format, args...)
		return
	}
	r.list.Errorf(code, at, help, format, args...)
}

// subject is one machine under check, with the indices that keep the rules
// linear in the number of rows.
type subject struct {
	reporter
	m       *ir.Machine
	uses    *uses
	groups  []*group
	byKey   map[groupKey]*group
	leaving map[*ir.State][]*ir.Row // rows by their source; nil: creation rows
	facts   facts
	dead    map[*ir.Row]bool // rows that no case chooses
	unseen  map[*ir.Row]bool // rows that no case of a sample chooses
	budget  budget
}

func newSubject(m *ir.Machine, l *diag.List, severity map[diag.Code]diag.Severity, u *uses) *subject {
	s := &subject{
		reporter: reporter{l, severity}, m: m, uses: u,
		byKey: map[groupKey]*group{}, leaving: map[*ir.State][]*ir.Row{}, dead: map[*ir.Row]bool{}, unseen: map[*ir.Row]bool{}, budget: budget{maxWork},
	}
	for _, r := range m.Rows {
		s.leaving[r.From] = append(s.leaving[r.From], r)
		key := groupKey{r.From, r.Event}
		g := s.byKey[key]
		if g == nil {
			g = &group{from: r.From, event: r.Event}
			s.byKey[key] = g
			s.groups = append(s.groups, g)
		}
		g.rows = append(g.rows, r)
	}
	s.facts = factsOf(s)
	return s
}

// synthetic reports whether r is the creation row that the lowering made for a
// machine without one: nothing in the spec could be blamed for it.
func synthetic(r *ir.Row) bool { return r.Group < 0 }

// written lists the events of the spec, without the one that the lowering
// made for a synthetic creation row.
func (s *subject) writtenEvents() []*ir.Event {
	for _, r := range s.m.Rows {
		if synthetic(r) {
			return slices.DeleteFunc(slices.Clone(s.m.Events), func(e *ir.Event) bool { return e == r.Event })
		}
	}
	return s.m.Events
}
