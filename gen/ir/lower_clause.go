package ir

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/gen/diag"
	"github.com/fsmgen/fsmgen/gen/syntax"
)

// names is what an expression or a clause may read at its place.
type names struct {
	fields   map[string]*Field // of the record, with the id
	event    *Event            // its fields may be read; nil: none
	params   map[string]*Param
	specials []Special
	place    string // for messages: "in holds"
	// tests: matches, contains and the like are allowed; holds must be
	// expressible in every database.
	noTests bool
}

// constants are the names of a place that may hold literals only.
func (lo *lowering) constants() *names { return &names{place: "here"} }

// rowNames is what guards and assignments of a row on e read.
func (lo *lowering) rowNames(e *Event) *names {
	n := &names{fields: lo.fields, event: e, params: lo.params, specials: []Special{Now, StateName, FromName}, place: "in a row"}
	if len(lo.m.Actors) > 0 {
		n.specials = append(n.specials, ActorID)
	}
	return n
}

// recordNames is what holds and invariants read.
func (lo *lowering) recordNames(place string) *names {
	return &names{fields: lo.fields, specials: []Special{StateName}, place: place, noTests: true}
}

// stepNames is what payloads, labels and raised events read: the new record.
func (lo *lowering) stepNames(place string) *names {
	n := lo.rowNames(nil)
	n.place = place
	return n
}

func (n *names) eventField(name string) *Field {
	if n.event == nil {
		return nil
	}
	for _, f := range n.event.Fields {
		if f.Text == name {
			return f
		}
	}
	return nil
}

// operand resolves a name without its $.
func (lo *lowering) operand(name string, at diag.Span, n *names) (Operand, bool) {
	o := Operand{Text: name, Span: at}
	if f := n.eventField(name); f != nil {
		o.Field, o.Event, o.Type = f, n.event, f.Type
		return o, true
	}
	if f := n.fields[name]; f != nil {
		o.Field, o.Type = f, lo.incoming(f, n.event)
		return o, true
	}
	if p := n.params[name]; p != nil {
		o.Param, o.Type = p, p.Type
		return o, true
	}
	for _, s := range n.specials {
		if string(s) == name {
			o.Special, o.Type = s, lo.specialType(s)
			return o, true
		}
	}
	return o, false
}

// incoming is the type that a guard sees: a required write is present even
// where the record's field is optional.
func (lo *lowering) incoming(f *Field, e *Event) Type {
	t := f.Type
	if e != nil {
		for _, w := range e.Writes {
			if w.Field == f {
				t.Optional = w.Optional
			}
		}
	}
	return t
}

func (lo *lowering) specialType(s Special) Type {
	switch s {
	case Now:
		return Type{Base: Time}
	case ActorID:
		return Type{Base: lo.actorIDType(), Optional: true}
	case StateName, FromName, ErrorText:
		return Type{Base: String}
	}
	panic(NoForm("ir.specialType", s))
}

// actorIDType is the type of the callers' ids: that of the field that `is`
// names, else string.
func (lo *lowering) actorIDType() Base {
	for _, a := range lo.m.Actors {
		if a.Is != nil {
			return a.Is.Type.Base
		}
	}
	return String
}

// undeclared reports a name that means nothing at its place.
func (lo *lowering) undeclared(code diag.Code, name string, at diag.Span, n *names) {
	for _, s := range Specials() {
		if string(s) == name {
			lo.errorf(CodeNotHere, at, "`$error` is known in `fails`; `$actor` where the machine has actors; `$now` in rows and payloads", "$%s is not known %s", name, n.place)
			return
		}
	}
	if lo.params[name] != nil {
		lo.errorf(CodeNotHere, at, "store the value in a field of the record first", "param %q is not known %s", name, n.place)
		return
	}
	if lo.fields[name] != nil {
		lo.errorf(CodeNotHere, at, "write a literal, or let the row that takes the event read the field", "field %q is not known %s", name, n.place)
		return
	}
	if lo.unread("field") {
		return
	}
	known := map[string]bool{}
	for k := range n.fields {
		known[k] = true
	}
	if n.event != nil {
		for _, f := range n.event.Fields {
			known[f.Text] = true
		}
	}
	for k := range n.params {
		known[k] = true
	}
	lo.errorf(code, at, suggestion(name, known, "field"), "field %q is not declared %s", name, n.place)
}

// clauses lowers a list of guards.
func (lo *lowering) clauses(n *syntax.Node, names *names) []*Clause {
	var out []*Clause
	for _, item := range n.Each() {
		if c := lo.clause(item, names); c != nil {
			out = append(out, c)
		}
	}
	return out
}

func (lo *lowering) clause(n *syntax.Node, names *names) *Clause {
	if n.Kind != syntax.Scalar {
		return nil // reported with the shape
	}
	at := n.TextSpan()
	g, err := syntax.ParseGuard(n.Text)
	if err != nil {
		lo.errorf(err.Code, at.Within(err.Token.Offset, max(1, err.Token.Len())), err.Help, "%s", err.Message)
		return nil
	}
	span := func(t syntax.Token) diag.Span { return at.Within(t.Offset, t.Len()) }
	op, known := operator(g.Op.Text)
	if !known {
		lo.errorf(syntax.GuardOperator, span(g.Op), "add it to ir.Ops and to ir.operator", "operator %q is a word of gen/syntax without a form in gen/ir", g.Op.Text)
		return nil
	}
	left, ok := lo.operand(g.Field.Text, span(g.Field), names)
	if !ok || left.Param != nil || left.Special != "" && left.Special != StateName {
		lo.undeclared(CodeGuardUndefined, g.Field.Text, span(g.Field), names)
		return nil
	}
	c := &Clause{Left: left, Op: op, Text: strings.Join(strings.Fields(n.Text), " "), Span: at}
	if names.noTests && !c.Op.InChecks() {
		lo.errorf(CodeNotHere, span(g.Op), "test it in the rows that lead here, and store the outcome", "operator %q is not known %s: not every database has it", g.Op.Text, names.place)
		return nil
	}
	if !lo.clauseRight(c, g, span, names) {
		return nil
	}
	return c
}

// operator returns the operator that text is a word for.
func operator(text string) (Op, bool) {
	switch text {
	case "equals":
		return Eq, true
	case "not_equals":
		return Ne, true
	}
	return Op(text), slices.Contains(Ops(), Op(text))
}

// clauseRight resolves and types the right side.
func (lo *lowering) clauseRight(c *Clause, g syntax.Guard, span func(syntax.Token) diag.Span, names *names) bool {
	want, fits := rightType(c)
	if !fits {
		lo.errorf(CodeGuardType, span(g.Op), operatorHelp(c.Left.Type), "operator %q does not fit field %q of type %s", g.Op.Text, c.Left.Text, c.Left.Type)
		return false
	}
	at := span(g.Value.Token)
	switch g.Value.Kind {
	case syntax.GuardRef:
		right, ok := lo.operand(g.Value.Text, at, names)
		if !ok {
			lo.undeclared(CodeGuardUndefined, g.Value.Text, at, names)
			return false
		}
		c.Right = right
		return lo.comparable(c, want, at)
	case syntax.GuardArray:
		if lo.listTooLarge(len(g.Value.Items), at) {
			return false
		}
		values := []any{}
		for _, item := range g.Value.Items {
			v, ok := lo.guardLiteral(c, item, want, span(item.Token), names)
			if !ok {
				return false
			}
			values = append(values, v)
		}
		c.Right = Operand{Literal: values, IsLit: true, Type: Type{Base: ListOf, Elem: &want}, Text: g.Value.Text, Span: at}
		return true
	case syntax.GuardBool, syntax.GuardNumber, syntax.GuardText, syntax.GuardPattern:
		return lo.clauseValue(c, g, want, at, names)
	}
	panic(NoForm("ir.clauseRight", g.Value.Kind))
}

// clauseValue reads a right side that is one literal.
func (lo *lowering) clauseValue(c *Clause, g syntax.Guard, want Type, at diag.Span, names *names) bool {
	v, ok := lo.guardLiteral(c, g.Value, want, at, names)
	if pattern, is := v.(string); is && c.Op == Matches {
		if lo.patternTooLarge(pattern, at) {
			return false
		}
		c.Pattern, _ = regexp.Compile(pattern) // the guard is well formed
	}
	c.Right = Operand{Literal: v, IsLit: true, Type: want, Text: g.Value.Text, Span: at}
	lo.clauseLiteral(c, names)
	return ok
}

// rightType is the type that the operator wants on its right (the element
// type for in and not_in), and whether it fits the left side at all.
func rightType(c *Clause) (Type, bool) {
	t := c.Left.Type
	t.Optional = false
	switch c.Op {
	case Exists, NotExists:
		return Type{Base: Bool}, true
	case Eq, Ne, In, NotIn:
		return t, plain(t)
	case Lt, Le, Gt, Ge:
		return t, ordered(t)
	case Contains:
		if t.Base != ListOf {
			return t, false
		}
		return *t.Elem, true
	case Matches:
		return Type{Base: String}, t.Base == String
	}
	panic(NoForm("ir.rightType", c.Op))
}

// ordered reports whether the values of t have an order that every database knows.
func ordered(t Type) bool {
	switch t.Base {
	case Int, Time, Duration:
		return true
	case String, Bool, UUID, JSON, ListOf, EnumOf:
		return false
	}
	panic(NoForm("ir.ordered", t.Base))
}

func operatorHelp(t Type) string {
	switch t.Base {
	case JSON:
		return "json is opaque: only exists and not_exists apply"
	case ListOf:
		return "on a list: contains, exists, not_exists"
	case Int, Time, Duration:
		return "on " + string(t.Base) + ": ==, !=, <, >, <=, >=, in, not_in, exists, not_exists"
	case String:
		return "on a string: ==, !=, in, not_in, matches, exists, not_exists"
	case Bool, UUID, EnumOf:
		return "on " + t.String() + ": ==, !=, in, not_in, exists, not_exists"
	}
	panic(NoForm("ir.operatorHelp", t.Base))
}

func (lo *lowering) comparable(c *Clause, want Type, at diag.Span) bool {
	got := c.Right.Type
	if !sameType(want, got) {
		lo.errorf(CodeGuardType, at, "compare values of one type", "%q has type %s, but %q has type %s", c.Left.Text, want, c.Right.Text, got)
		return false
	}
	if units, ok := unit(want, got); !ok {
		lo.errorf(CodeGuardType, at, "convert one of the two at the edge", "%q and %q count in different units, %s", c.Left.Text, c.Right.Text, units)
		return false
	}
	return true
}

// sameType reports whether values of the two types can be compared and
// assigned; presence is judged elsewhere.
func sameType(a, b Type) bool {
	switch {
	case a.Base != b.Base:
		return false
	case a.Base == EnumOf:
		return a.Enum == b.Enum
	case a.Base == ListOf:
		return sameType(*a.Elem, *b.Elem)
	}
	return true
}

func (lo *lowering) guardLiteral(c *Clause, v syntax.GuardValue, want Type, at diag.Span, names *names) (Value, bool) {
	if c.Left.Special == StateName {
		if _, ok := lookupText(lo, lo.states, "state", v.Text, at); !ok {
			return nil, false
		}
		return v.Text, true
	}
	value, ok := parseLiteral(v.Text, want)
	if want.Base == Time || !ok {
		lo.errorf(CodeGuardType, at, lo.meantName(v.Text, guardHelp(v.Text, want), names), "%q is not a value of type %s, the type of %q", v.Text, want, c.Left.Text)
		return nil, false
	}
	if d, isDuration := value.(time.Duration); isDuration && d < 0 {
		lo.errorf(CodeGuardType, at, "write a duration of at least 0", "duration %s is negative", v.Text)
		return nil, false
	}
	return value, true
}

func guardHelp(text string, want Type) string {
	if want.Base == Time {
		return "compare a time with $now or another $field"
	}
	return literalHelp(text, want)
}
