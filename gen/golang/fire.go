package golang

import (
	"fmt"
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/naming"
)

func results() *jen.Statement { return jen.Params(jen.Id("Steps"), jen.Error()) }

func receiver() *jen.Statement { return jen.Params(jen.Id("r").Op("*").Id("Record")) }

// fire emits one method per event:
//
//	// CommitUpload applies commit_upload. It changes r only when it returns a step.
//	func (r *Record) CommitUpload(e CommitUpload, now time.Time) (Steps, error) {
//		switch r.State {
//		case PendingCommit:
//			...
//		case Initiated, PartsUploading, Committed, Aborted:
//			return Steps{}, r.reject(fsm.ErrInvalidTransition, EventCommitUpload)
//		}
//		return Steps{}, r.reject(fsm.ErrCorrupt, EventCommitUpload)
//	}
func (g *generator) fire(f *jen.File) {
	g.patterns.declare(f)
	for _, ev := range g.m.Events {
		if g.creates(ev) {
			g.decideCreation(f, ev)
			if g.raises(ev, true) {
				g.chain(f, ev, g.creation(ev), true)
			}
		}
		g.decide(f, ev)
		if g.raises(ev, false) {
			g.chain(f, ev, g.method(ev), false)
		}
	}
}

// decide emits the switch of ev over all states.
func (g *generator) decide(f *jen.File, ev *ir.Event) {
	m := g.method(ev)
	sentence := fmt.Sprintf("%s applies %s. It changes r only when it returns a step.", m.step, ev.Text)
	doc := ev.Doc
	if m.step != m.whole {
		sentence = fmt.Sprintf("%s takes the step of %s and leaves out what it raises.", m.step, ev.Text)
		doc = ""
	}
	declare(f, sentence, doc, jen.Func().Add(receiver()).Id(m.step).Params(g.inputs(ev)...).Add(results()).BlockFunc(func(b *jen.Group) {
		g.prologue(b, ev, false)
		b.Switch(jen.Id("r").Dot("State")).BlockFunc(func(cases *jen.Group) {
			for _, c := range g.cases(ev) {
				cases.Case(c.states...).Block(c.code...)
			}
		})
		b.Add(refuse(g.rejection("ErrCorrupt", ev)))
	}))
}

// decideCreation emits the rows of ev that create records.
func (g *generator) decideCreation(f *jen.File, ev *ir.Event) {
	m := g.creation(ev)
	sentence := fmt.Sprintf("%s fills a blank record by %s. It changes r only when it returns a step.", m.step, ev.Text)
	declare(f, sentence, "", jen.Func().Add(receiver()).Id(m.step).Params(g.inputs(ev)...).Add(results()).BlockFunc(func(b *jen.Group) {
		g.prologue(b, ev, true)
		for _, code := range g.candidates(ev, nil) {
			b.Add(code)
		}
	}))
}

// prologue cuts times to what a database holds and checks the payload.
func (g *generator) prologue(b *jen.Group, ev *ir.Event, creation bool) {
	if slices.ContainsFunc(g.m.Rows, func(row *ir.Row) bool {
		return row.Event == ev && (row.From == nil) == creation && rowReadsNow(row)
	}) {
		b.Id("now").Op("=").Add(g.fsm("Instant").Call(jen.Id("now")))
	}
	for _, p := range payload(ev) {
		if cut := instantOf(p.typ); cut != "" {
			x := jen.Id("e").Dot(naming.Exported(p.field.Text))
			b.Add(x.Clone()).Op("=").Add(g.fsm(cut).Call(x.Clone()))
		}
	}
	if len(g.payloadChecks(ev)) > 0 {
		b.If(jen.List(jen.Id("field"), jen.Id("problem")).Op(":=").Id("e").Dot("check").Call(), jen.Id("field").Op("!=").Lit("")).
			Block(refuse(g.rejection("ErrInvalidEvent", ev).Dot("WithField").Call(jen.Id("field"), jen.Id("problem"))))
	}
}

// instantOf is the function of fsm that normalises a value of type t.
func instantOf(t ir.Type) string {
	switch {
	case t.Base == ir.Time && t.Optional:
		return "OptionalInstant"
	case t.Base == ir.Time:
		return "Instant"
	case t.Base == ir.ListOf && t.Elem.Base == ir.Time && !t.Optional:
		return "InstantList"
	}
	return ""
}

// stateCase is one case of a decision; states that decide alike share it.
type stateCase struct {
	states []jen.Code
	code   []jen.Code
}

// cases are the cases of ev: states with rows first, in spec order.
func (g *generator) cases(ev *ir.Event) []*stateCase {
	var acting, idle []*stateCase
	byText := map[string]*stateCase{}
	for _, s := range g.m.States {
		rows := g.rowsOf(s, ev)
		code := g.candidates(ev, s)
		if len(rows) == 0 {
			code = g.unexpected(ev, s)
		}
		text := fmt.Sprintf("%#v", jen.Block(code...))
		c, ok := byText[text]
		if !ok {
			c = &stateCase{code: code}
			byText[text] = c
			if len(rows) > 0 {
				acting = append(acting, c)
			} else {
				idle = append(idle, c)
			}
		}
		c.states = append(c.states, jen.Id(naming.Exported(s.Text)))
	}
	return append(acting, idle...)
}

// unexpected is the answer of a state without a row for ev: already there
// where the machine says that a repetition succeeds, else a rejection.
func (g *generator) unexpected(ev *ir.Event, s *ir.State) []jen.Code {
	reject := refuse(g.rejection("ErrInvalidTransition", ev))
	done := jen.Return(jen.Id("Steps").Values(), jen.Nil())
	if !g.m.RepeatSucceeds || ev.Key != nil {
		return []jen.Code{reject}
	}
	var mayBe []test
	for _, row := range g.m.Rows {
		if row.Event != ev || row.To != s {
			continue
		}
		t := g.mayFire(row, &scope{g: g, record: "r", by: id("by")}, true)
		if t.known {
			return []jen.Code{done}
		}
		mayBe = append(mayBe, t)
	}
	if len(mayBe) == 0 {
		return []jen.Code{reject}
	}
	return []jen.Code{jen.If(either(distinct(mayBe)).code()).Block(done), reject}
}

// distinct drops tests that read alike.
func distinct(tests []test) []test {
	seen := map[string]bool{}
	var out []test
	for _, t := range tests {
		text := fmt.Sprintf("%#v", t.code())
		if !seen[text] {
			seen[text] = true
			out = append(out, t)
		}
	}
	return out
}
