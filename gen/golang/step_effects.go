package golang

import (
	"github.com/dave/jennifer/jen"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/naming"
)

// effectsOf emits:
//
//	func Effects(t Transition, r *Record, e Payload, c Call) []fsm.Effect {
//		switch t {
//		case TransitionCommitVerified:
//			return []fsm.Effect{askInsertBlobRow(r), askUploadCommitted(r)}
//		case TransitionCommitMismatch:
//			e, _ := e.(CommitUpload)
//			return []fsm.Effect{askAuditFailure(r, e.Digest, e.Length)}
//		}
//		return nil
//	}
//
// Where that is too long to be read, the transitions to each state have a function of their own.
func (g *generator) effectsOf(f *jen.File) {
	cases := g.effectCases(g.taken)
	function := g.effectsFunc("Effects", effectGivens(), jen.Id("t"), cases)
	var functions []jen.Code
	if !sizeOfSwitch(cases.list).readable() {
		function, functions = g.effectsByTarget()
	}
	declare(f, "Effects returns what the step t asks for, in the order exit, row, entry, machine. r is the record\n"+
		"after t, e and c are what made it. Metrics whose condition fails are left out.", "", function)
	for _, x := range functions {
		f.Add(x)
		f.Line()
	}
}

// effectGivens are what the effects of a step are made from.
func effectGivens() []given {
	return []given{
		{"t", jen.Id("Transition")}, {"r", jen.Op("*").Id("Record")}, {"e", jen.Id("Payload")}, {"c", jen.Id("Call")},
	}
}

func (g *generator) effectsFunc(name string, in []given, subject jen.Code, cases sharedCases) *jen.Statement {
	return jen.Func().Id(name).Params(parameters(in)...).Index().Add(g.fsm("Effect")).Block(
		jen.Switch(subject).Block(cases.code()...),
		jen.Return(jen.Nil()))
}

// effectsByTarget emits the effects by the state to which a transition leads:
//
//	case Failed:
//		return effectsToFailed(t, r, e)
func (g *generator) effectsByTarget() (*jen.Statement, []jen.Code) {
	var calls sharedCases
	var functions []jen.Code
	for _, s := range g.m.States {
		var rows []*ir.Row
		for _, row := range g.taken {
			if row.Target() == s {
				rows = append(rows, row)
			}
		}
		cases := g.effectCases(rows)
		if len(cases.list) == 0 {
			continue
		}
		name := "effectsTo" + naming.Exported(s.Text)
		in := read(effectGivens(), textOf(jen.Switch(jen.Id("t")).Block(cases.code()...)))
		calls.add(jen.Id(naming.Exported(s.Text)), []jen.Code{jen.Return(jen.Id(name).Call(arguments(in)...))})
		functions = append(functions, g.effectsFunc(name, in, jen.Id("t"), cases))
	}
	return g.effectsFunc("Effects", effectGivens(), jen.Id("t").Dot("To").Call(), calls), functions
}

// effectCases are those of the rows with effects; those with the same share a case.
func (g *generator) effectCases(rows []*ir.Row) sharedCases {
	var cases sharedCases
	for _, row := range rows {
		if asks := g.asks(row); len(asks) > 0 {
			cases.add(jen.Id(g.transition[row]), g.rowEffects(row, asks))
		}
	}
	return cases
}

// asked is an action of a row, and the condition of its metric.
type asked struct {
	ir.Action
	when test
}

// asks lists the actions of row whose condition can hold.
func (g *generator) asks(row *ir.Row) []asked {
	var out []asked
	for _, a := range row.Actions {
		x := asked{a, known(true)}
		if a.Metric != nil {
			s := g.effectScope(nil)
			s.event, s.state, s.from = row.Event, row.Target(), row.From
			s.stateVar, s.fromVar = nil, nil
			x.when = s.conjunction(a.Metric.When, newFacts())
		}
		if !x.when.known || x.when.outcome {
			out = append(out, x)
		}
	}
	return out
}

// rowEffects returns the effects of a row, of which asks can be asked for.
func (g *generator) rowEffects(row *ir.Row, asks []asked) []jen.Code {
	code := g.listed(asks)
	if textOf(code...).variables["e"] {
		return append([]jen.Code{assertPayload(row.Event)}, code...)
	}
	return code
}

// listed returns asks as a list. What comes before the first condition begins it.
func (g *generator) listed(asks []asked) []jen.Code {
	sure := 0
	for sure < len(asks) && asks[sure].when.known {
		sure++
	}
	var code []jen.Code
	switch first := g.effectList(asks[:sure]); {
	case sure == len(asks):
		return []jen.Code{jen.Return(first)}
	case len(asks) == 1: // else none, as after the switch
		return []jen.Code{jen.If(asks[0].when.code()).Block(jen.Return(g.effectList(asks)))}
	case sure == 0:
		code = append(code, jen.Var().Id("out").Index().Add(g.fsm("Effect")))
	default:
		code = append(code, jen.Id("out").Op(":=").Add(first))
	}
	for i, x := range asks[sure:] {
		more := jen.Append(jen.Id("out"), g.build(x.Action))
		switch {
		case !x.when.known:
			code = append(code, jen.If(x.when.code()).Block(jen.Id("out").Op("=").Add(more)))
		case sure+i == len(asks)-1:
			return append(code, jen.Return(more))
		default:
			code = append(code, jen.Id("out").Op("=").Add(more))
		}
	}
	return append(code, jen.Return(jen.Id("out")))
}

// effectList is a list of effects, on lines of their own where they are many.
func (g *generator) effectList(asks []asked) *jen.Statement {
	var elements []jen.Code
	for _, x := range asks {
		elements = append(elements, g.element(x.Action))
	}
	list := jen.Index().Add(g.fsm("Effect"))
	if len(elements) > 3 {
		return list.Values(lines(elements))
	}
	return list.Values(elements...)
}
