package golang

import (
	"slices"

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

// parameters declares in.
func parameters(in []given) []jen.Code {
	var out []jen.Code
	for _, x := range in {
		out = append(out, jen.Id(x.name).Add(x.typ))
	}
	return out
}

// arguments pass in, by the names that they have in the caller as well.
func arguments(in []given) []jen.Code {
	var out []jen.Code
	for _, x := range in {
		out = append(out, jen.Id(x.name))
	}
	return out
}

// read are those of all that one of texts has as a variable.
func read(all []given, texts ...text) []given {
	var out []given
	for _, x := range all {
		if slices.ContainsFunc(texts, func(t text) bool { return t.variables[x.name] }) {
			out = append(out, x)
		}
	}
	return out
}
