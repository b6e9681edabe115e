package golang

import (
	"maps"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/naming"
)

// body is the Go of one row under construction: what happens once its
// condition holds.
type body struct {
	g        *generator
	row      *ir.Row
	facts    facts
	assigned map[*ir.Field]value
	order    []*ir.Field // the assigned fields: what the event writes, then what the row sets
	locals   []local
	code     []jen.Code
	// ends: the code always leaves with a rejection.
	ends bool
	// several: the code is for every state that the row of the spec leaves.
	several bool
}

// local is a variable that a right side needed.
type local struct {
	name string
	typ  ir.Type
}

// rowBody is the code of a row whose condition established f:
//
//	if r.BlobDigest.IsSet && r.BlobDigest.V != e.Digest {
//		return Steps{}, r.reject(fsm.ErrImmutable, EventCommitUpload).OnRow("commit_verified")...
//	}
//	r.State, r.BlobDigest = Committed, fsm.Some(e.Digest)
//	return took(TransitionCommitVerified), nil
func (g *generator) rowBody(row *ir.Row, f facts, several bool) *body {
	b := &body{g: g, row: row, facts: f, assigned: map[*ir.Field]value{}, several: several}
	if row.Reject != nil {
		refusal := g.refusal(row).Dot("Refuse").Call(jen.Lit(row.Text), jen.Lit(row.Reject.Text), jen.Lit(row.Reject.Status))
		if len(row.When) > 0 {
			refusal.Dot("On").Call(checkLines(g.grounds(row))...)
		}
		b.leave(refusal)
		return b
	}
	for _, step := range []func(){
		b.checkNamed, b.evaluate, b.checkImmutable, b.checkBounds, b.checkCreator, b.checkHolds, b.checkPayloads, b.assign,
	} {
		if step(); b.ends {
			break
		}
	}
	return b
}

// grounds are the clauses under which a row refuses; they are known to hold.
func (g *generator) grounds(row *ir.Row) []jen.Code {
	var out []jen.Code
	for _, c := range row.When {
		args := []jen.Code{jen.Lit(c.Text), jen.Lit(true)}
		out = append(out, g.fsm("Check").Call(append(args, g.seenBy(g.guards(row), c)...)...))
	}
	return out
}

// refusal begins the answer of a row that rejects: what the other rows wanted.
func (g *generator) refusal(row *ir.Row) *jen.Statement {
	if g.explained(row.From, row.Event) {
		return jen.Id("r").Dot(explainName(row.Event, row.From == nil)).Call(g.explainArgs(row.Event)...)
	}
	return g.rejection("ErrRefused", row.Event)
}

func (b *body) add(code ...jen.Code) { b.code = append(b.code, code...) }

// reject begins a rejection by this row.
func (b *body) reject(reason string) *jen.Statement {
	return b.g.rejection(reason, b.row.Event).Dot("OnRow").Call(jen.Lit(b.row.Text))
}

// rejectField is a rejection that names a field.
func (b *body) rejectField(reason string, f *ir.Field, problem string) *jen.Statement {
	return b.reject(reason).Dot("WithField").Call(jen.Lit(f.Text), jen.Lit(problem))
}

func (b *body) leave(rejection *jen.Statement) {
	b.add(refuse(rejection))
	b.ends = true
}

// unless adds: if violation, reject.
func (b *body) unless(violation test, rejection *jen.Statement) {
	switch {
	case violation.known && violation.outcome:
		b.leave(rejection)
	case !violation.known:
		b.add(jen.If(violation.code()).Block(refuse(rejection)))
	}
}

// refuse leaves a deciding method.
func refuse(rejection *jen.Statement) *jen.Statement {
	return jen.Return(jen.Id("Steps").Values(), rejection)
}

// checkNamed refuses a caller without an id where the row stores who fired it:
// the record would name no caller.
func (b *body) checkNamed() {
	if !b.row.StoresCaller() || b.facts.present["by.ID"] {
		return
	}
	anonymous := test{code: func() *jen.Statement { return jen.Op("!").Id("by").Dot("ID").Dot("IsSet") }}
	b.unless(anonymous, b.reject("ErrNotAllowed"))
	b.facts.present["by.ID"] = true
}

// evaluate computes what the row stores.
func (b *body) evaluate() {
	s := b.g.guards(b.row)
	for _, w := range b.row.Event.Writes {
		b.store(w.Field, s.incoming(w))
	}
	for _, a := range b.row.Set {
		code, v := s.evaluate(&a.Value, a.Target.Text, func() *jen.Statement {
			return refuse(b.rejectField("ErrOverflow", a.Target, "overflows"))
		})
		if len(code) > 0 {
			t := a.Value.Type
			t.Optional = v.present != nil
			b.locals = append(b.locals, local{"new" + naming.Exported(a.Target.Text), t})
		}
		b.add(code...)
		if b.store(a.Target, v); b.ends {
			return
		}
	}
}

// store notes what a field gets. A required field must get a value.
func (b *body) store(f *ir.Field, v value) {
	if !f.Type.Optional {
		rejection := b.rejectField("ErrInvalidEvent", f, "would be absent")
		switch {
		case v.absent:
			b.leave(rejection)
		case v.present != nil && !b.facts.present[v.key]:
			b.add(jen.If(jen.Op("!").Add(v.present())).Block(refuse(rejection)))
		}
		v.present, v.whole = nil, nil
	}
	b.assigned[f] = v
	b.order = append(b.order, f)
}

// targets lists the assigned fields in record order.
func (b *body) targets() []*ir.Field {
	return slices.SortedFunc(maps.Keys(b.assigned), func(x, y *ir.Field) int { return x.Index - y.Index })
}

// checkImmutable refuses to change a write-once field that has a value.
func (b *body) checkImmutable() {
	for _, f := range b.order {
		old := b.old(f)
		if !f.Immutable || b.row.From == nil && !f.HasDefault || b.assigned[f].key == old.key {
			continue
		}
		b.unless(b.g.changes(old, b.assigned[f]), b.rejectField("ErrImmutable", f, "is write-once"))
	}
}

// old is the field before the step.
func (b *body) old(f *ir.Field) value {
	s := &scope{g: b.g, record: "r"}
	return s.field(f)
}

// changes tests whether a present old value would be replaced by another.
func (g *generator) changes(old, v value) test {
	was := newFacts().presence(old)
	switch {
	case v.absent:
		return was
	case v.present == nil && old.present != nil && equatable(old.typ.Base):
		return plain(func() *jen.Statement { return g.fsm("Differs").Call(old.whole(), v.code()) })
	case v.present == nil:
		return all(was, equality(old, v, false))
	}
	same := all(newFacts().presence(v), equality(old, v, true))
	return all(was, opposite(same))
}

// checkBounds keeps what the row's own assignments store within min and max.
// What the event carries was checked with its payload.
func (b *body) checkBounds() {
	for _, a := range b.row.Set {
		v := b.assigned[a.Target]
		if v.absent || v.isLit && within(a.Target, v.literal) || copiesWithin(&a) {
			continue
		}
		if outside := outOfBounds(a.Target, v); len(outside) > 0 {
			b.unless(all(b.facts.presence(v), either(outside)), b.rejectField("ErrOutOfRange", a.Target, "is out of range"))
		}
		b.learnBounds(a.Target, v)
	}
}

// copiesWithin reports whether a stores a field whose own bounds, which were
// checked when it came in, are at least as narrow as the target's.
func copiesWithin(a *ir.Assign) bool {
	source := a.Value.A.Field
	if a.Value.Kind != ir.Read || source == nil {
		return false
	}
	low := a.Target.Min == nil || source.Min != nil && *source.Min >= *a.Target.Min
	high := a.Target.Max == nil || source.Max != nil && *source.Max <= *a.Target.Max
	return low && high
}

// learnBounds notes what an int within its bounds is known to be.
func (b *body) learnBounds(f *ir.Field, v value) {
	learn := func(op ir.Op, limit *int64) {
		if limit != nil && !f.Type.Base.ByLength() && v.present == nil {
			b.facts.holds[statement{v.key, b.g.literalValue(*limit, ir.Type{Base: ir.Int}).key, op}] = true
		}
	}
	learn(ir.Ge, f.Min)
	learn(ir.Le, f.Max)
}

// checkCreator compares the caller's id with the field that a creation row
// has just filled.
func (b *body) checkCreator() {
	if b.row.From != nil {
		return
	}
	var own bool
	for _, a := range b.row.By {
		own = own || a.Is != nil
	}
	if !own {
		return
	}
	may := b.g.mayFire(b.row, b.g.after(b.row, b.assigned), false)
	b.unless(opposite(may), b.g.rejection("ErrNotAllowed", b.row.Event))
}

// checkHolds tests what the target state demands and the row has not proven.
func (b *body) checkHolds() {
	s := b.g.after(b.row, b.assigned)
	t := s.conjunction(b.row.Target().Holds, b.facts)
	if t.known && t.outcome {
		return
	}
	rejection := b.unheld()
	if t.known {
		b.leave(rejection)
		return
	}
	b.add(jen.If(t.not()).Block(refuse(rejection)))
}

// unheld calls the method that explains why the row's target state refuses: that of the state
// where the row stores nothing that it demands, else that of the row.
func (b *body) unheld() *jen.Statement {
	if b.keepsDemanded() {
		args := append(b.g.rejectionArgs(b.row.Event, jen.Id("by")), jen.Lit(b.row.Text))
		return jen.Id("r").Dot(unmetName(b.row.Target())).Call(args...)
	}
	args := b.g.explainArgs(b.row.Event)
	for _, l := range b.locals {
		args = append(args, jen.Id(l.name))
	}
	return jen.Id("r").Dot(unheldName(b.g, b.row)).Call(args...)
}

// keepsDemanded reports whether what the target state demands reads the record alone, and reads
// it alike before the row stores anything.
func (b *body) keepsDemanded() bool {
	if b.row.From == nil {
		return false
	}
	after, before := b.g.after(b.row, b.assigned), &scope{g: b.g, record: "r", state: b.row.Target()}
	return !slices.ContainsFunc(b.row.Target().Holds, func(c *ir.Clause) bool {
		for _, o := range []*ir.Operand{&c.Left, &c.Right} {
			if o.Param != nil || o.Special != "" {
				return true
			}
		}
		return source(b.g.check(after, c)) != source(b.g.check(before, c))
	})
}

// unmetName is the method that explains what a state demands and a record lacks.
func unmetName(s *ir.State) string { return "unmet" + naming.Exported(s.Text) }

// unheldName is the method that explains why the row's target state refused. The rows that a row
// of the spec expands to share it where they lead to one state.
func unheldName(g *generator, row *ir.Row) string {
	if row.To == nil || !g.expands(row) {
		return "unheld" + strings.TrimPrefix(g.transition[row], naming.GoTransition.Prefix)
	}
	name := "unheld" + naming.Exported(row.Text)
	if g.count[expansion{row.Group, row.Event}] < g.count[expansion{row.Group, nil}] {
		name += naming.Exported(row.Event.Text)
	}
	return name
}

// checkPayloads refuses a step whose effects carry a sum that overflows.
func (b *body) checkPayloads() {
	s := b.g.after(b.row, b.assigned)
	for _, x := range sums(b.row) {
		l, r := s.read(&x.A), s.read(&x.B)
		gate := all(s.conjunction(x.when, newFacts()), b.facts.presence(l), b.facts.presence(r))
		if l.absent || r.absent || gate.known && !gate.outcome {
			continue
		}
		fits := jen.If(jen.List(jen.Id("_"), jen.Id("ok")).Op(":=").Add(b.g.sum(x.Kind, l, r)), jen.Op("!").Id("ok")).
			Block(refuse(b.reject("ErrOverflow")))
		if !gate.known {
			fits = jen.If(gate.code()).Block(fits)
		}
		b.add(fits)
	}
}

// assign changes the record, at once where a right side reads a field that
// the row also stores.
func (b *body) assign() {
	var left, right []jen.Code
	transition := jen.Id(b.g.transition[b.row])
	if b.several {
		transition = jen.Id("table").Dot("Leaving").Call(jen.Id(b.g.transition[b.g.firstOf(b.row)]), jen.Id("r").Dot("State"))
	}
	if b.row.To != nil && (b.several || b.row.To != b.row.From) {
		if b.several {
			b.add(jen.Id("t").Op(":=").Add(transition))
			transition = jen.Id("t")
		}
		left = append(left, jen.Id("r").Dot("State"))
		right = append(right, jen.Id(naming.Exported(b.row.To.Text)))
	}
	for _, f := range b.targets() {
		left = append(left, jen.Id("r").Dot(naming.Exported(f.Text)))
		right = append(right, b.g.stored(b.assigned[f], f.Type))
	}
	switch {
	case len(left) == 0:
	case len(left) <= 3 || b.swaps():
		b.add(jen.List(left...).Op("=").List(right...))
	default:
		for i := range left {
			b.add(jen.Add(left[i]).Op("=").Add(right[i]))
		}
	}
	b.add(jen.Return(jen.Id("took").Call(transition), jen.Nil()))
}

// swaps reports whether some right side reads a field that is assigned too.
func (b *body) swaps() bool {
	for _, v := range b.assigned {
		for f := range b.assigned {
			if v.key == "r."+f.Text {
				return true
			}
		}
	}
	return false
}

// outOfBounds lists the tests that fail for a present value of f.
func outOfBounds(f *ir.Field, v value) []test {
	size := v
	if f.Type.Base.ByLength() {
		size.code = func() *jen.Statement { return jen.Qual("unicode/utf8", "RuneCountInString").Call(v.code()) }
	}
	var tests []test
	bound := func(op ir.Op, limit *int64) {
		if limit == nil || f.Type.Base.ByLength() && op == ir.Lt && *limit == 0 {
			return
		}
		if f.Type.Base.ByLength() && op == ir.Lt && *limit == 1 {
			tests = append(tests, test{code: func() *jen.Statement { return v.code().Op("==").Lit("") }})
			return
		}
		tests = append(tests, test{code: func() *jen.Statement {
			return size.code().Op(string(op)).Lit(int(*limit))
		}})
	}
	bound(ir.Lt, f.Min)
	bound(ir.Gt, f.Max)
	return tests
}

// within reports whether a literal keeps the bounds of f.
func within(f *ir.Field, v ir.Value) bool {
	n, ok := v.(int64)
	if s, isText := v.(string); isText {
		n, ok = int64(len([]rune(s))), true
	}
	return !ok || (f.Min == nil || n >= *f.Min) && (f.Max == nil || n <= *f.Max)
}
