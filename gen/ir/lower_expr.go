package ir

import (
	"regexp"
	"strings"

	"github.com/fsmgen/fsmgen/gen/diag"
	"github.com/fsmgen/fsmgen/gen/syntax"
)

var sum = regexp.MustCompile(`^(\$?[^\s]+)\s+([+-])\s+(\$?[^\s]+)$`)

// expr reads a right side of type want. A want without a base accepts any
// type (payloads and labels).
func (lo *lowering) expr(n *syntax.Node, want Type, names *names) (Expr, bool) {
	at := n.TextSpan()
	switch {
	case n.Kind == syntax.Null:
		if want.Base != "" && !want.Optional {
			lo.errorf(CodeType, at, "write a value, or make the field optional", "null is not a value of type %s", want)
			return Expr{}, false
		}
		return Expr{Kind: Null, Type: want, Text: "null", Span: at}, true
	case n.Kind == syntax.Scalar && strings.HasPrefix(n.Text, "$"):
		return lo.reference(n.Text, at, want, names)
	}
	lo.exprLiteral(n, want, names)
	if want.Base == "" {
		return Expr{Kind: Read, A: Operand{Literal: n.Text, IsLit: true, Type: Type{Base: String}, Text: n.Text, Span: at}, Type: Type{Base: String}, Text: n.Text, Span: at}, true
	}
	if _, fits := parseLiteral(n.Text, want); !fits && n.Kind == syntax.Scalar && !n.Quoted {
		if help := lo.meantName(n.Text, "", names); help != "" {
			lo.errorf(CodeType, at, help, "%q is not a value of type %s", n.Text, want)
			return Expr{}, false
		}
	}
	v, ok := lo.literal(n, want)
	plain := want
	plain.Optional = false
	return Expr{Kind: Read, A: Operand{Literal: v, IsLit: true, Type: plain, Text: n.Text, Span: at}, Type: plain, Text: n.Text, Span: at}, ok
}

// reference reads $name, $a + b or $a - b.
func (lo *lowering) reference(text string, at diag.Span, want Type, names *names) (Expr, bool) {
	m := sum.FindStringSubmatchIndex(text)
	if m == nil {
		if strings.ContainsAny(text[1:], "+- \t") {
			lo.errorf(CodeType, at, "write `$name`, `$a + b` or `$a - b`, with blanks around the sign", "%q is not an expression", text)
			return Expr{}, false
		}
		a, ok := lo.named(text, at, names)
		e := Expr{Kind: Read, A: a, Type: a.Type, Text: text, Span: at}
		return e, ok && lo.assignable(e, want, at)
	}
	a, ok := lo.named(text[m[2]:m[3]], at.Within(m[2], m[3]-m[2]), names)
	if !ok {
		return Expr{}, false
	}
	b, ok := lo.summand(text[m[6]:m[7]], at.Within(m[6], m[7]-m[6]), a.Type, names)
	if !ok {
		return Expr{}, false
	}
	e := Expr{Kind: Add, A: a, B: b, Text: text, Span: at}
	if text[m[4]] == '-' {
		e.Kind = Sub
	}
	t, ok := sumType(e.Kind, a.Type, b.Type)
	if units, same := unit(a.Type, b.Type); !ok && !same {
		lo.errorf(CodeType, at, "convert one of the two at the edge", "%q and %q count in different units, %s", text[m[2]:m[3]], text[m[6]:m[7]], units)
		return Expr{}, false
	}
	if !ok {
		lo.errorf(CodeType, at, "add int to int, or a duration to a time or duration", "%s and %s can't be combined with %q", a.Type, b.Type, text[m[4]:m[5]])
		return Expr{}, false
	}
	e.Type = t
	return e, lo.assignable(e, want, at)
}

// named resolves $name.
func (lo *lowering) named(text string, at diag.Span, names *names) (Operand, bool) {
	name := strings.TrimPrefix(text, "$")
	o, ok := lo.operand(name, at, names)
	if !ok {
		lo.undeclared(CodeUndeclared, name, at, names)
	}
	return o, ok
}

// summand resolves the right operand of a sum: $name or a literal.
func (lo *lowering) summand(text string, at diag.Span, left Type, names *names) (Operand, bool) {
	if strings.HasPrefix(text, "$") {
		return lo.named(text, at, names)
	}
	t := Type{Base: left.Base}
	if left.Base == Time {
		t.Base = Duration
	}
	v, ok := parseLiteral(text, t)
	if !ok || !t.Base.Counts() {
		lo.errorf(CodeType, at, literalHelp(text, t), "%q can't be added to a value of type %s", text, left)
		return Operand{}, false
	}
	return Operand{Literal: v, IsLit: true, Type: t, Text: text, Span: at}, true
}

func sumType(kind ExprKind, a, b Type) (Type, bool) {
	t := Type{Base: a.Base, Optional: a.Optional || b.Optional, Unit: a.Unit}
	switch {
	case a.Base == Int && b.Base == Int, a.Base == Duration && b.Base == Duration:
		_, ok := unit(a, b)
		return t, ok
	case a.Base == Time && b.Base == Duration:
		return t, true
	case a.Base == Time && b.Base == Time && kind == Sub:
		t.Base = Duration
		return t, true
	}
	return t, false
}

// assignable reports a value of e that does not fit want.
func (lo *lowering) assignable(e Expr, want Type, at diag.Span) bool {
	if want.Base == "" {
		return true
	}
	stateText := e.A.Special.NamesState()
	if !sameType(want, e.Type) || stateText && want.Base != String {
		lo.errorf(CodeType, at, "assign a value of type "+want.String(), "%s has type %s, not %s", e.Text, e.Type, want)
		return false
	}
	if units, ok := unit(want, e.Type); !ok {
		lo.errorf(CodeType, at, "convert one of the two at the edge", "the two sides count in different units, %s", units)
		return false
	}
	return true
}

// fire reads EVENT or {EVENT: {field: value}}.
func (lo *lowering) fire(n *syntax.Node, names *names) *Fire {
	if n == nil || n.Kind != syntax.Scalar && n.Kind != syntax.Map {
		return nil
	}
	name, bound := n, (*syntax.Node)(nil)
	if n.Kind == syntax.Map {
		if len(n.Entries) != 1 {
			lo.errorf(syntax.CodeShape, n.Span, "write {EVENT: {field: value}}", "one event is fired, not %d", len(n.Entries))
			return nil
		}
		name, bound = n.Entries[0].Key, n.Entries[0].Value
	}
	e, ok := lookup(lo, lo.events, "event", name)
	if !ok {
		return nil
	}
	f := &Fire{Event: e, Span: name.TextSpan()}
	payload := map[string]*Field{}
	for _, x := range e.Fields {
		payload[x.Text] = x
	}
	for _, w := range e.Writes {
		payload[w.Field.Text] = w.Field
	}
	for _, entry := range entries(bound) {
		target, ok := lookup(lo, payload, "field of event "+e.Text, entry.Key)
		if !ok {
			continue
		}
		if v, ok := lo.expr(entry.Value, lo.payloadType(e, target), names); ok {
			f.Args = append(f.Args, Assign{Target: target, Value: v, Span: entry.Key.TextSpan()})
		}
	}
	return f
}

// payloadType is the type of a payload item: of an event field its own, of a
// write the record's, present unless the write is optional.
func (lo *lowering) payloadType(e *Event, f *Field) Type {
	return lo.incoming(f, e)
}
