package golang

import (
	"fmt"
	"math"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/naming"
)

// wordType is a small integer type whose values are words of the spec: State,
// Event, Role, and each enum. Zero is none of them.
type wordType struct {
	name  string // State
	noun  string // state
	recv  string // s
	list  string // States: the function that lists the values, empty for none
	words []word
}

type word struct {
	constant string
	text     string
	doc      string
}

func (w *wordType) first() string { return w.words[0].constant }
func (w *wordType) last() string  { return w.words[len(w.words)-1].constant }

// integer is the smallest type that holds the values and zero.
func (w *wordType) integer() *jen.Statement {
	if len(w.words) > math.MaxUint8 {
		return jen.Uint16()
	}
	return jen.Uint8()
}

// words emits a word type with its encodings.
func (g *generator) words(f *jen.File, w *wordType, sentence, doc string) {
	declare(f, sentence, doc, jen.Type().Id(w.name).Add(w.integer()))
	g.wordConstants(f, w)
	g.wordTable(f, w)
	g.wordMethods(f, w)
}

func (g *generator) wordConstants(f *jen.File, w *wordType) {
	f.Comment(fmt.Sprintf("// The values of %s, in the order of the spec. Zero is none of them.", w.name))
	f.Const().DefsFunc(func(defs *jen.Group) {
		defs.Id("_").Id(w.name).Op("=").Iota()
		for _, c := range w.words {
			if c.doc != "" {
				defs.Add(comment(c.doc, "").Id(c.constant))
			} else {
				defs.Id(c.constant)
			}
		}
	})
	f.Line()
}

// wordTable emits:
//
//	var stateWords = fsm.Words[State]{Machine: MachineName, Type: "State", Noun: "state", Not: "is not a state", List: []string{
//		"initiated",
//	}}
func (g *generator) wordTable(f *jen.File, w *wordType) {
	var list []jen.Code
	for _, c := range w.words {
		list = append(list, jen.Lit(c.text))
	}
	f.Var().Id(w.table()).Op("=").Add(g.fsm("Words")).Types(jen.Id(w.name)).Values(
		jen.Id("Machine").Op(":").Id("MachineName"),
		jen.Id("Type").Op(":").Lit(w.name),
		jen.Id("Noun").Op(":").Lit(w.noun),
		jen.Id("Not").Op(":").Lit(isNot(w.noun)),
		jen.Id("List").Op(":").Index().String().Values(filled(list)))
	f.Line()
}

// table is the variable that holds the words: stateWords.
func (w *wordType) table() string { return strings.ToLower(w.name[:1]) + w.name[1:] + "Words" }

// wordMethods emits the methods of a word type, each a call of its table, and the functions
// that make values:
//
//	// String returns the word of the spec, ParseState the state of a word. States lists every state in
//	// the order of the spec. The other methods are for JSON and SQL.
//	func (s State) String() string { return stateWords.String(s) }
func (g *generator) wordMethods(f *jen.File, w *wordType) {
	table := func(method string, args ...jen.Code) *jen.Statement {
		return jen.Return(jen.Id(w.table()).Dot(method).Call(args...))
	}
	method := func(name string) *jen.Statement { return jen.Func().Params(jen.Id(w.recv).Id(w.name)).Id(name) }
	pointer := func(name string) *jen.Statement {
		return jen.Func().Params(jen.Id(w.recv).Op("*").Id(w.name)).Id(name)
	}
	recv, parse := jen.Id(w.recv), naming.GoParse.Prefix+w.name
	says := fmt.Sprintf("String returns the word of the spec, %s the %s of a word.", parse, w.noun)
	if w.list != "" {
		says += fmt.Sprintf(" %s lists every %s in\nthe order of the spec.", w.list, w.noun)
	}
	f.Add(comment(says+" The other methods are for JSON and SQL.", "").
		Add(method("String").Params().String().Block(table("String", recv))))
	f.Add(method("Valid").Params().Bool().Block(
		jen.Return(jen.Id(w.first()).Op("<=").Id(w.recv).Op("&&").Id(w.recv).Op("<=").Id(w.last()))))
	f.Add(method("MarshalText").Params().Params(jen.Index().Byte(), jen.Error()).Block(table("MarshalText", recv)))
	f.Add(pointer("UnmarshalText").Params(jen.Id("text").Index().Byte()).Error().Block(table("UnmarshalText", jen.Id("text"), recv)))
	f.Add(method("Value").Params().Params(jen.Qual("database/sql/driver", "Value"), jen.Error()).Block(table("Value", recv)))
	f.Add(pointer("Scan").Params(jen.Id("src").Any()).Error().Block(table("Scan", jen.Id("src"), recv)))
	f.Func().Id(parse).Params(jen.Id("name").String()).Params(jen.Id(w.name), jen.Error()).Block(table("Parse", jen.Id("name")))
	if w.list != "" {
		f.Func().Id(w.list).Params().Index().Id(w.name).Block(table("Values"))
	}
	f.Line()
}

// enums emits the enum types of the spec.
func (g *generator) enums(f *jen.File) {
	for _, e := range g.m.Enums {
		w := &wordType{name: naming.Exported(e.Text), noun: e.Text, recv: "v"}
		for _, v := range e.Values {
			w.words = append(w.words, word{constant: enumConstant(e, v.Text), text: v.Text, doc: v.Doc})
		}
		g.words(f, w, fmt.Sprintf("%s is the enum %s.", w.name, e.Text), e.Doc)
	}
}

// states emits State with what the table says about each state.
func (g *generator) states(f *jen.File) {
	w := &wordType{name: "State", noun: "state", recv: "s", list: "States"}
	for _, s := range g.m.States {
		w.words = append(w.words, word{constant: naming.Exported(s.Text), text: s.Text, doc: s.Doc})
	}
	g.words(f, w, "State is a state of the machine.", "")
	g.stateKinds(f)
	g.stateFlag(f, "Terminal", "no transition leads out of s. Rows without a target may still act there.",
		func(s *ir.State) bool { return s.Terminal })
	g.stateFlag(f, "Recoverable", "recovery from an error is meaningful in s.",
		func(s *ir.State) bool { return s.Recoverable })
}

// stateKinds emits:
//
//	var kinds = [...]string{Draft: "initial", Paid: "success"}
func (g *generator) stateKinds(f *jen.File) {
	var list []jen.Code
	for _, s := range g.m.States {
		list = append(list, jen.Id(naming.Exported(s.Text)).Op(":").Lit(string(s.Kind)))
	}
	declare(f, "kinds are the semantic roles of the states. They are never written.", "",
		jen.Var().Id("kinds").Op("=").Index(jen.Op("...")).String().Values(filled(list)))
	declare(f, "Kind returns the semantic role of s: initial, operational, snapshot, success, error or terminal.", "",
		jen.Func().Params(jen.Id("s").Id("State")).Id("Kind").Params().String().Block(
			jen.If(jen.Op("!").Id("s").Dot("Valid").Call()).Block(jen.Return(jen.Lit(""))),
			jen.Return(jen.Id("kinds").Index(jen.Id("s")))))
}

// stateFlag emits a predicate of a state, false of what is none.
func (g *generator) stateFlag(f *jen.File, name, meaning string, holds func(*ir.State) bool) {
	declare(f, name+" reports whether "+meaning, "",
		jen.Func().Params(jen.Id("s").Id("State")).Id(name).Params().Bool().Block(jen.Return(g.stateIs(holds))))
}

// stateIs tests the state s by the shorter of two lists: those that hold, and those that don't.
func (g *generator) stateIs(holds func(*ir.State) bool) *jen.Statement {
	compare := func(op string, states []jen.Code) []func() *jen.Statement {
		var tests []func() *jen.Statement
		for _, s := range states {
			tests = append(tests, func() *jen.Statement { return jen.Id("s").Op(op).Add(s) })
		}
		return tests
	}
	yes := g.statesWith(holds)
	no := g.statesWith(func(s *ir.State) bool { return !holds(s) })
	switch {
	case len(yes) == 0:
		return jen.False()
	case len(yes) <= len(no):
		return join(compare("==", yes), "||")
	}
	valid := func() *jen.Statement { return jen.Id("s").Dot("Valid").Call() }
	return join(append([]func() *jen.Statement{valid}, compare("!=", no)...), "&&")
}

func (g *generator) statesWith(holds func(*ir.State) bool) []jen.Code {
	var out []jen.Code
	for _, s := range g.m.States {
		if holds(s) {
			out = append(out, jen.Id(naming.Exported(s.Text)))
		}
	}
	return out
}
