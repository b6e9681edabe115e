package golang

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/naming"
)

// method names the methods that decide an event.
type method struct {
	whole string // the step and what it raises
	step  string // the step alone; the same where nothing is raised
}

func (g *generator) method(ev *ir.Event) method {
	name := naming.Exported(ev.Text)
	m := method{whole: "fire" + name}
	if g.public(ev) {
		m.whole = name
	}
	m.step = m.whole
	if g.raises(ev, false) {
		m.step = "step" + name
	}
	return m
}

func (g *generator) creation(ev *ir.Event) method {
	m := method{whole: "create" + naming.Exported(ev.Text)}
	m.step = m.whole
	if g.raises(ev, true) {
		m.step = "begin" + naming.Exported(ev.Text)
	}
	return m
}

// hasPayload reports whether ev carries anything.
func hasPayload(ev *ir.Event) bool { return len(ev.Fields)+len(ev.Writes) > 0 }

// inputs are the parameters of the methods of ev: its payload, the actor, the
// params where a row reads one, and the time.
func (g *generator) inputs(ev *ir.Event) []jen.Code {
	return append(g.explainInputs(ev, true), jen.Id("now").Qual("time", "Time"))
}

func (g *generator) explainInputs(ev *ir.Event, whole bool) []jen.Code {
	var in []jen.Code
	if hasPayload(ev) {
		in = append(in, jen.Id("e").Id(naming.Exported(ev.Text)))
	}
	if g.hasActors() {
		in = append(in, jen.Id("by").Id("Actor"))
	}
	if g.readsParams[ev] {
		in = append(in, jen.Id("p").Id("Params"))
	}
	if !whole && g.readsNow(ev) {
		in = append(in, jen.Id("now").Qual("time", "Time"))
	}
	return in
}

// explainArgs are the arguments for the methods of explain.go.
func (g *generator) explainArgs(ev *ir.Event) []jen.Code {
	var args []jen.Code
	if hasPayload(ev) {
		args = append(args, jen.Id("e"))
	}
	if g.hasActors() {
		args = append(args, jen.Id("by"))
	}
	if g.readsParams[ev] {
		args = append(args, jen.Id("p"))
	}
	if g.readsNow(ev) {
		args = append(args, jen.Id("now"))
	}
	return args
}

// arguments are what a method of ev is called with.
func (g *generator) arguments(ev *ir.Event, e, by, p, now jen.Code) []jen.Code {
	var args []jen.Code
	if hasPayload(ev) {
		args = append(args, e)
	}
	if g.hasActors() {
		args = append(args, by)
	}
	if g.readsParams[ev] {
		args = append(args, p)
	}
	return append(args, now)
}

// readsNow reports whether a decision on ev reads the time.
func (g *generator) readsNow(ev *ir.Event) bool {
	return slices.ContainsFunc(g.eventRows[ev], rowReadsNow)
}

func rowReadsNow(row *ir.Row) bool {
	return slices.ContainsFunc(row.When, func(c *ir.Clause) bool { return c.Right.Special == ir.Now }) ||
		slices.ContainsFunc(decided(row), exprReadsNow)
}

// rejection begins a rejection of ev by r.
func (g *generator) rejection(reason string, ev *ir.Event) *jen.Statement {
	return jen.Id("r").Dot("reject").Call(append([]jen.Code{g.fsm(reason)}, g.rejectionArgs(ev, jen.Id("by"))...)...)
}

func (g *generator) rejectionArgs(ev *ir.Event, by jen.Code) []jen.Code {
	args := []jen.Code{jen.Id(naming.GoEvent.Of(ev.Text))}
	if g.hasActors() {
		args = append(args, by)
	}
	return args
}
