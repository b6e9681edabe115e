package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/ir"
)

const (
	codeCircular      = "FSM047"
	codeRaiseRefused  = "FSM048"
	codeRaiseTerminal = "FSM049"
)

// raises reports chains that can't be a fixed number of steps, or that can
// fail half-way: a refused raise refuses the whole call.
func (s *subject) raises() {
	s.circular()
	for _, r := range s.m.Rows {
		if r.Raise == nil || r.Reject != nil {
			continue
		}
		if r.Target() != nil && r.Target().Terminal {
			s.report(codeRaiseTerminal, r.Raise.Span, "do what the raised event does in this row, or raise before the record ends",
				"row %q raises %s in terminal state %q", r.Text, r.Raise.Event.Text, r.Target().Text)
			continue
		}
		s.raise(r)
	}
}

func (s *subject) raise(r *ir.Row) {
	target, event := r.Target(), r.Raise.Event
	rows := s.acceptedBySystem(target, event)
	if len(rows) == 0 {
		s.report(codeRaiseRefused, r.Raise.Span, fmt.Sprintf("write a row {from: %s, on: %s}", target.Text, event.Text),
			"row %q raises %s, but state %q has no row for it: the whole call would be refused", r.Text, event.Text, target.Text)
		return
	}
	if alwaysAccepts(rows) && !refusable(r.Raise) {
		return
	}
	for _, rivals := range s.rivals(r) {
		f := s.raiseRefused(r, rivals, rows)
		if f.undecided {
			s.undecided(r.Raise.Span, "let a row with `otherwise: true` take it",
				"it is not decided whether state %q takes %s, which row %q raises, in every case", target.Text, event.Text, r.Text)
		}
		if f.found {
			s.report(codeRaiseRefused, r.Raise.Span, "let a row take it, or raise it only where the clauses of this row make sure that it is taken",
				"row %q raises %s, which state %q refuses%s: the whole call would be refused", r.Text, event.Text, target.Text, f.when)
		}
		if f.undecided || f.found {
			return
		}
	}
}

// raiseRefused looks for a case in which r is chosen among rivals and stores
// its record, and none of next takes what it raises.
func (s *subject) raiseRefused(r *ir.Row, rivals, next []*ir.Row) finding {
	target := r.Target()
	sp := s.space(scene{from: r.From, event: r.Event, views: []domain.View{
		{Event: r.Event, Clauses: clausesOf(rivals), Assigns: r.Set},
		{Event: r.Event, Clauses: target.Holds},
		{Event: r.Event, Clauses: bound(r.Raise, clausesOf(next)), Assigns: r.Raise.Args},
		{Event: r.Event, Clauses: presence(slices.Concat(r.Set, r.Raise.Args))},
	}})
	return sp.find(func(env reader) bool {
		if choose(rivals, env) != r {
			return false
		}
		record := after(r, env)
		if !stores(nil, r.Set, record) || !allHold(target.Holds, record) {
			return false
		}
		env = payload(r.Raise, record)
		if !stores(r.Raise.Event, r.Raise.Args, env) {
			return true
		}
		row := choose(next, env)
		return row == nil || row.Reject != nil
	})
}

// rivals lists, for each set of actors who see the same rows, the rows that
// compete with r, r among them. A set that holds another one is left out: what
// r does there it does in the smaller one.
func (s *subject) rivals(r *ir.Row) [][]*ir.Row {
	var all [][]*ir.Row
	for _, c := range s.byKey[groupKey{r.From, r.Event}].casts() {
		if !slices.Contains(c.rows, r) {
			continue
		}
		all = append(all, slices.DeleteFunc(slices.Clone(c.rows), func(x *ir.Row) bool {
			return x != r && !r.Otherwise && (x.Otherwise || x.Priority <= r.Priority)
		}))
	}
	return slices.DeleteFunc(slices.Clone(all), func(set []*ir.Row) bool {
		return slices.ContainsFunc(all, func(other []*ir.Row) bool { return len(other) < len(set) && includes(set, other) })
	})
}

func includes(set, part []*ir.Row) bool {
	return !slices.ContainsFunc(part, func(r *ir.Row) bool { return !slices.Contains(set, r) })
}

// circular reports rows whose raise can lead back to them.
func (s *subject) circular() {
	const (
		open = iota + 1
		done
	)
	mark := map[*ir.Row]int{}
	var path []*ir.Row
	var visit func(r *ir.Row)
	visit = func(r *ir.Row) {
		mark[r] = open
		path = append(path, r)
		for _, next := range s.acceptedBySystem(r.Target(), r.Raise.Event) {
			switch {
			case next.Raise == nil || next.Target() == nil:
			case mark[next] == open:
				s.report(codeCircular, r.Raise.Span, "break the circle: let one of these rows end the call",
					"raises go in a circle: %s", circle(path[slices.Index(path, next):], next))
			case mark[next] == 0:
				visit(next)
			}
		}
		path = path[:len(path)-1]
		mark[r] = done
	}
	for _, r := range s.m.Rows {
		if r.Raise != nil && r.Target() != nil && mark[r] == 0 {
			visit(r)
		}
	}
}

func circle(path []*ir.Row, back *ir.Row) string {
	names := make([]string, 0, len(path)+1)
	for _, r := range path {
		names = append(names, r.Text)
	}
	return strings.Join(append(names, back.Text), " -> ")
}
