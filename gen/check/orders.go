package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/gen/ir"
)

const (
	codeWaitsBehind = "FSM063"
	codeOneOrder    = "FSM064"
)

// issue is an effect that a row starts.
type issue struct {
	row    *ir.Row
	at     int // place in row.Actions
	effect *ir.Effect
}

// order is what goes to one destination. Effects of one record run in order
// there, and a dead letter blocks what comes later.
type order struct {
	issues  []issue
	byRow   map[*ir.Row][]issue
	work    map[*ir.State][]*ir.Effect // started on the way into a state, or in it
	cleared map[groupKey]bool          // events that answer work of the state: nothing is left before that work
}

func (o *order) add(x issue) {
	o.issues = append(o.issues, x)
	o.byRow[x.row] = append(o.byRow[x.row], x)
	if !x.effect.IsWork() {
		return
	}
	st := x.row.Target()
	o.work[st] = union(o.work[st], []*ir.Effect{x.effect})
	for _, f := range append(slices.Clone(x.effect.Returns), x.effect.Fails, x.effect.Lost) {
		if f != nil && (st.Timeout == nil || st.Timeout.Fire.Event != f.Event) {
			o.cleared[groupKey{st, f.Event}] = true
		}
	}
}

// orders reports what shares a destination and should not.
func (s *subject) orders() {
	byName := map[string]*order{}
	var all []*order
	for _, r := range s.m.Rows {
		if r.Reject != nil || s.dead[r] {
			continue
		}
		for i, a := range r.Actions {
			e := a.Effect
			if e == nil || !e.Kind.Handled() || e.Delivery.InStep() {
				continue
			}
			if byName[e.To] == nil {
				byName[e.To] = &order{byRow: map[*ir.Row][]issue{}, work: map[*ir.State][]*ir.Effect{}, cleared: map[groupKey]bool{}}
				all = append(all, byName[e.To])
			}
			byName[e.To].add(issue{r, i, e})
		}
	}
	for _, o := range all {
		ahead := s.ahead(o)
		s.waitsBehind(o, ahead)
		s.oneOrder(o, ahead)
	}
}

// ahead lists, for each issue of an order, the effects that can stand before it
// as dead letters. An effect with `fails` never becomes one.
func (s *subject) ahead(o *order) [][]*ir.Effect {
	out := make([][]*ir.Effect, len(o.issues))
	seen := map[*ir.Effect]bool{}
	for _, first := range o.issues {
		e := first.effect
		if seen[e] || e.Fails != nil {
			continue
		}
		seen[e] = true
		left := s.carriedTo(o, e)
		for i, x := range o.issues {
			from := x.row.From
			if left[from] && !o.cleared[groupKey{from, x.row.Event}] || o.besides(e, x) {
				out[i] = append(out[i], e)
			}
		}
	}
	return out
}

// besides reports whether e stands before x for what happens in one state: it
// is listed earlier in the same step, or it is work of the state in which x
// happens without leaving it.
func (o *order) besides(e *ir.Effect, x issue) bool {
	if e == x.effect {
		return false
	}
	sameStep := slices.ContainsFunc(o.byRow[x.row], func(y issue) bool { return y.effect == e && y.at < x.at })
	return sameStep || x.row.To == nil && slices.Contains(o.work[x.row.From], e)
}

// carriedTo is the set of states in which the message e may still be a dead
// letter. Work is cancelled with its state.
func (s *subject) carriedTo(o *order, e *ir.Effect) map[*ir.State]bool {
	in := map[*ir.State]bool{}
	var open []*ir.State
	enter := func(st *ir.State) {
		if !in[st] {
			in[st] = true
			open = append(open, st)
		}
	}
	if e.IsWork() {
		return in
	}
	for _, x := range o.issues {
		if x.effect == e {
			enter(x.row.Target())
		}
	}
	for len(open) > 0 {
		st := open[len(open)-1]
		open = open[:len(open)-1]
		for _, r := range s.leaving[st] {
			if r.To != nil && r.Reject == nil && !o.cleared[groupKey{st, r.Event}] {
				enter(r.To)
			}
		}
	}
	return in
}

// waitsBehind reports work that a state without a deadline waits for, behind
// effects that may become dead letters: the record would wait for ever.
func (s *subject) waitsBehind(o *order, ahead [][]*ir.Effect) {
	type work struct {
		effect *ir.Effect
		state  *ir.State
	}
	behind := map[work][]*ir.Effect{}
	var found []work
	for i, x := range o.issues {
		w := work{x.effect, x.row.Target()}
		if !x.effect.IsWork() || w.state.Terminal || w.state.Timeout != nil || len(ahead[i]) == 0 {
			continue
		}
		if behind[w] == nil {
			found = append(found, w)
		}
		behind[w] = union(behind[w], ahead[i])
	}
	for _, w := range found {
		s.report(codeWaitsBehind, w.effect.Span,
			"give the work a destination of its own, the effects before it `fails`, or the state a `timeout`",
			"state %q waits for %q, which stands in the order %q behind %s; a dead letter there stops the record, and the state has no timeout",
			w.state.Text, w.effect.Text, w.effect.To, effectNames(behind[w]))
	}
}

// oneOrder reports effects that have nothing to do with each other, and wait
// for each other.
func (s *subject) oneOrder(o *order, ahead [][]*ir.Effect) {
	money, people := map[*ir.Effect][]*ir.Effect{}, map[*ir.Effect][]*ir.Effect{}
	var blocked []*ir.Effect
	for i, x := range o.issues {
		blocked = union(blocked, []*ir.Effect{x.effect})
		for _, e := range ahead[i] {
			switch {
			case e == x.effect:
			case movesMoney(e) && movesMoney(x.effect):
				money[x.effect] = union(money[x.effect], []*ir.Effect{e})
			case s.servesOthers(e, x.effect):
				people[x.effect] = union(people[x.effect], []*ir.Effect{e})
			}
		}
	}
	const help = "give each a destination (`to`) of its own"
	for _, e := range blocked {
		if money[e] != nil {
			s.report(codeOneOrder, e.Span, help, "effect %q moves money and stands in the order %q behind other money, %s: a dead letter there holds it back",
				e.Text, e.To, effectNames(money[e]))
		}
		if people[e] != nil {
			s.report(codeOneOrder, e.Span, help, "effect %q is for %s and stands in the order %q behind %s, which is for %s: a dead letter there holds it back",
				e.Text, actorNames(s.serves(e)), e.To, effectNames(people[e]), actorNames(s.serves(people[e][0])))
		}
	}
}

// moneyUnits are the units that count money. FORMAT.md lists them.
var moneyUnits = strings.Fields("nano micro minor cent cents pence satoshi satoshis wei gwei lamport lamports dollar dollars euro euros eur usd gbp chf jpy")

// movesMoney reports whether e may not simply be repeated and carries an
// amount of money.
func movesMoney(e *ir.Effect) bool {
	return !e.Delivery.Harmless() && slices.ContainsFunc(e.With, func(p ir.Payload) bool {
		return slices.Contains(moneyUnits, strings.ToLower(p.Value.Type.Unit))
	})
}

// serves lists the actors whose identity e carries.
func (s *subject) serves(e *ir.Effect) []*ir.Actor {
	var out []*ir.Actor
	for _, a := range s.m.Actors {
		if a.Is != nil && slices.ContainsFunc(e.With, func(p ir.Payload) bool { return p.Value.A.Field == a.Is }) {
			out = append(out, a)
		}
	}
	return out
}

// servesOthers reports whether both effects are for actors, and for none in
// common.
func (s *subject) servesOthers(a, b *ir.Effect) bool {
	of, others := s.serves(a), s.serves(b)
	return len(of) > 0 && len(others) > 0 && !slices.ContainsFunc(of, func(x *ir.Actor) bool { return slices.Contains(others, x) })
}

func union(a, b []*ir.Effect) []*ir.Effect {
	for _, e := range b {
		if !slices.Contains(a, e) {
			a = append(a, e)
		}
	}
	return a
}

func effectNames(effects []*ir.Effect) string {
	names := make([]string, len(effects))
	for i, e := range effects {
		names[i] = fmt.Sprintf("%q", e.Text)
	}
	return strings.Join(names, " and ")
}

func actorNames(actors []*ir.Actor) string {
	names := make([]string, len(actors))
	for i, a := range actors {
		names[i] = a.Text
	}
	return strings.Join(names, " and ")
}
