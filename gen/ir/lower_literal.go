package ir

import (
	"github.com/fsmgen/fsmgen/gen/diag"
	"github.com/fsmgen/fsmgen/gen/syntax"
)

// CodeLiteralName is the code of a text that is the name of a field or param.
const CodeLiteralName = diag.Code("FSM036")

// meantName is the help for a text that is no value of its type but a name of
// its place, else other.
func (lo *lowering) meantName(text, other string, n *names) string {
	if _, ok := lo.operand(text, diag.Span{}, n); ok {
		return "did you mean $" + text + "?"
	}
	return other
}

// literalName reports a text that a reader may take for the field or param of
// that name. A text has the type string, or, in payloads and labels, none yet;
// a value of an enum is what it says.
func (lo *lowering) literalName(text string, at diag.Span, want Type, means string, n *names) {
	o, ok := lo.operand(text, at, n)
	if !ok || o.Special != "" || want.Base != "" && !sameType(want, o.Type) {
		return
	}
	kind := "field"
	if o.Param != nil {
		kind = "param"
	}
	lo.list.Warnf(CodeLiteralName, at, "did you mean $"+text+"? "+means, "%q is the text, not the %s of that name", text, kind)
}

// clauseLiteral looks at the right side of `==` and `!=`.
func (lo *lowering) clauseLiteral(c *Clause, n *names) {
	var op Op
	switch c.Op {
	case Eq:
		op = In
	case Ne:
		op = NotIn
	case Lt, Gt, Le, Ge, Exists, NotExists, In, NotIn, Contains, Matches:
		return
	default:
		panic(NoForm("ir.clauseLiteral", c.Op))
	}
	if c.Right.Type.Base == String && c.Left.Special == "" {
		lo.literalName(c.Right.Text, c.Right.Span, c.Right.Type, "if the text is meant, write "+c.Left.Text+" "+string(op)+" ["+c.Right.Text+"]", n)
	}
}

// exprLiteral looks at a right side without quotes.
func (lo *lowering) exprLiteral(n *syntax.Node, want Type, names *names) {
	if n.Kind == syntax.Scalar && !n.Quoted && (want.Base == "" || want.Base == String) {
		lo.literalName(n.Text, n.TextSpan(), want, "if the text is meant, write it in quotes", names)
	}
}
