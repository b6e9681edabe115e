package golang

import (
	"go/token"

	"github.com/dave/jennifer/jen"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/naming"
)

// given is a variable that a method can get beside the record.
type given struct {
	name string
	typ  *jen.Statement
}

// givens are what a decision on ev is given; those of a decision on any event, for nil.
func (g *generator) givens(ev *ir.Event) []given {
	var out []given
	if ev != nil && hasPayload(ev) {
		out = append(out, given{"e", jen.Id(naming.Exported(ev.Text))})
	}
	return append(out, given{"by", jen.Id("Actor")}, given{"p", jen.Id("Params")}, given{"now", jen.Qual("time", "Time")})
}

// inputsOf are the parameters for those of all that code reads.
func inputsOf(all []given, code ...jen.Code) []jen.Code {
	var in []jen.Code
	for _, x := range read(all, code) {
		in = append(in, jen.Id(x.name).Add(x.typ))
	}
	return in
}

// argumentsOf are the arguments for those parameters, by the names that they have there.
func argumentsOf(all []given, code ...jen.Code) []jen.Code {
	var args []jen.Code
	for _, x := range read(all, code) {
		args = append(args, jen.Id(x.name))
	}
	return args
}

// read are those of all whose names code has as variables.
func read(all []given, code []jen.Code) []given {
	variables := map[string]bool{}
	before := token.ILLEGAL
	for _, t := range tokens(declared(jen.Func().Id("_").Params().Block(code...))) {
		if t.kind == token.IDENT && before != token.PERIOD { // behind a period it is a field or a method
			variables[t.text] = true
		}
		before = t.kind
	}
	var out []given
	for _, x := range all {
		if variables[x.name] {
			out = append(out, x)
		}
	}
	return out
}
