package golang

import (
	"fmt"
	"strings"

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
	isNow := func(o *ir.Operand) bool { return o.Special == ir.Now }
	for _, row := range g.m.Rows {
		if row.Event != ev {
			continue
		}
		for _, c := range row.When {
			if isNow(&c.Right) {
				return true
			}
		}
		exprs := sums(row)
		for i := range row.Set {
			exprs = append(exprs, &row.Set[i].Value)
		}
		for _, x := range exprs {
			if isNow(&x.A) || isNow(&x.B) {
				return true
			}
		}
	}
	return false
}

// rejection begins a rejection of ev by r.
func (g *generator) rejection(reason string, ev *ir.Event) *jen.Statement {
	return jen.Id("r").Dot("reject").Call(g.rejectionArgs(reason, ev, jen.Id("by"))...)
}

func (g *generator) rejectionArgs(reason string, ev *ir.Event, by jen.Code) []jen.Code {
	args := []jen.Code{g.fsm(reason), jen.Id(naming.GoEvent.Of(ev.Text))}
	if g.hasActors() {
		args = append(args, by)
	}
	return args
}

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
		g.prologue(b, ev)
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
		g.prologue(b, ev)
		for _, code := range g.candidates(ev, nil) {
			b.Add(code)
		}
	}))
}

// prologue cuts times to what a database holds and checks the payload.
func (g *generator) prologue(b *jen.Group, ev *ir.Event) {
	if g.readsNow(ev) {
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

// candidates are the rows of (state, event) in the order in which they are
// tried. A row without a condition ends the list.
func (g *generator) candidates(ev *ir.Event, s *ir.State) []jen.Code {
	var code []jen.Code
	for _, row := range g.rowsOf(s, ev) {
		guards, f := g.guards(row), newFacts()
		may := g.mayFire(row, guards, s != nil)
		if s != nil && len(row.By) > 0 && allHaveIs(row.By) {
			f.present["by.ID"] = true
		}
		condition := all(may, guards.conjunction(row.When, f))
		if condition.known && !condition.outcome {
			continue
		}
		code = append(code, rowComment(row)...)
		b := g.rowBody(row, f)
		if condition.known {
			return append(code, b.code...)
		}
		code = append(code, jen.If(condition.code()).Block(b.code...))
	}
	return append(code, refuse(jen.Id("r").Dot(explainName(ev, s == nil)).Call(g.explainArgs(ev)...)))
}

func allHaveIs(actors []*ir.Actor) bool {
	for _, a := range actors {
		if a.Is == nil {
			return false
		}
	}
	return true
}

func rowComment(row *ir.Row) []jen.Code {
	var out []jen.Code
	if doc := strings.TrimSpace(row.Doc); doc != "" {
		for _, line := range strings.Split(doc, "\n") {
			out = append(out, jen.Comment("// "+strings.TrimSpace(line)))
		}
	}
	return out
}

// mayFire tests the actor of a row. With ids false a role is enough, for
// creation rows, whose record has no fields yet.
func (g *generator) mayFire(row *ir.Row, s *scope, ids bool) test {
	if len(row.By) == 0 {
		return known(true)
	}
	var tests []test
	for _, a := range row.By {
		role := plain(func() *jen.Statement {
			return jen.Id("by").Dot("Role").Op("==").Id(naming.GoRole.Of(a.Text))
		})
		switch {
		case a.Is == nil:
			tests = append(tests, role)
		case ids:
			tests = append(tests, plain(func() *jen.Statement {
				return jen.Id("by").Dot("is" + naming.Exported(a.Text)).Call(jen.Id("r"))
			}))
		case s.assigned == nil:
			tests = append(tests, role)
		default:
			tests = append(tests, all(role, g.sameID(s.field(a.Is))))
		}
	}
	return either(tests)
}

// sameID compares the caller's id with a field.
func (g *generator) sameID(v value) test {
	switch {
	case v.key == "by.ID":
		return known(true)
	case v.absent:
		return known(false)
	case v.present != nil:
		return all(plain(v.present), plain(func() *jen.Statement { return jen.Id("by").Dot("ID").Op("==").Add(v.whole()) }))
	}
	return plain(func() *jen.Statement { return jen.Id("by").Dot("ID").Op("==").Add(g.fsm("Some").Call(v.code())) })
}
