package golang

import (
	"fmt"
	"math"

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
	g.wordString(f, w)
	g.wordParse(f, w)
	g.wordEncodings(f, w)
}

// wordConstants emits the constants and, like stringer, a function that stops
// compiling when they no longer have the values that the table gave them.
func (g *generator) wordConstants(f *jen.File, w *wordType) {
	f.Comment(fmt.Sprintf("// The values of %s, in the order of the spec. Zero is none of them.", w.name))
	f.Const().DefsFunc(func(defs *jen.Group) {
		defs.Id("_").Id(w.name).Op("=").Iota()
		for _, c := range w.words {
			if c.doc != "" {
				defs.Add(comment(fmt.Sprintf("%s is %s.", c.constant, c.text), c.doc).Id(c.constant))
			} else {
				defs.Id(c.constant)
			}
		}
	})
	f.Line()
	f.Func().Id("_").Params().BlockFunc(func(b *jen.Group) {
		b.Comment("An \"invalid array index\" error here says that the constants have changed: generate again.")
		b.Var().Id("x").Index(jen.Lit(1)).Struct()
		for i, c := range w.words {
			b.Id("_").Op("=").Id("x").Index(jen.Id(c.constant).Op("-").Lit(i + 1))
		}
	})
	f.Line()
}

// wordString emits:
//
//	func (s State) String() string {
//		switch s {
//		case Initiated:
//			return "initiated"
//		}
//		return "State(" + strconv.Itoa(int(s)) + ")"
//	}
func (g *generator) wordString(f *jen.File, w *wordType) {
	recv := func() *jen.Statement { return jen.Params(jen.Id(w.recv).Id(w.name)) }
	declare(f, fmt.Sprintf("String returns the word of the spec for %s.", w.recv), "",
		jen.Func().Add(recv()).Id("String").Params().String().Block(
			jen.Switch(jen.Id(w.recv)).BlockFunc(func(cases *jen.Group) {
				for _, c := range w.words {
					cases.Case(jen.Id(c.constant)).Block(jen.Return(jen.Lit(c.text)))
				}
			}),
			jen.Return(jen.Lit(w.name+"(").Op("+").Qual("strconv", "Itoa").Call(jen.Int().Call(jen.Id(w.recv))).Op("+").Lit(")")),
		))
	declare(f, fmt.Sprintf("Valid reports whether %s is one of the declared values.", w.recv), "",
		jen.Func().Add(recv()).Id("Valid").Params().Bool().Block(
			jen.Return(jen.Id(w.first()).Op("<=").Id(w.recv).Op("&&").Id(w.recv).Op("<=").Id(w.last())),
		))
}

func (g *generator) wordParse(f *jen.File, w *wordType) {
	parse := naming.GoParse.Prefix + w.name
	declare(f, fmt.Sprintf("%s returns the %s that the spec calls name.", parse, w.noun), "",
		jen.Func().Id(parse).Params(jen.Id("name").String()).Params(jen.Id(w.name), jen.Error()).Block(
			jen.Switch(jen.Id("name")).BlockFunc(func(cases *jen.Group) {
				for _, c := range w.words {
					cases.Case(jen.Lit(c.text)).Block(jen.Return(jen.Id(c.constant), jen.Nil()))
				}
			}),
			jen.Return(jen.Lit(0), g.noWord(w)),
		))
}

// noWord is the error for a name that is none of the words: that of a state has a type.
func (g *generator) noWord(w *wordType) *jen.Statement {
	if w.name == "State" {
		return jen.Op("&").Add(g.fsm("StateError")).Values(jen.Id("Machine").Op(":").Id("MachineName"), jen.Id("State").Op(":").Id("name"))
	}
	return jen.Qual("fmt", "Errorf").Call(jen.Lit(g.m.Text+": no "+w.noun+" %q"), jen.Id("name"))
}

// wordEncodings emits the Text (and so JSON) and SQL encodings.
func (g *generator) wordEncodings(f *jen.File, w *wordType) {
	value := func() *jen.Statement { return jen.Params(jen.Id(w.recv).Id(w.name)) }
	pointer := func() *jen.Statement { return jen.Params(jen.Id(w.recv).Op("*").Id(w.name)) }
	invalid := jen.If(jen.Op("!").Id(w.recv).Dot("Valid").Call()).Block(jen.Return(jen.Nil(),
		jen.Qual("fmt", "Errorf").Call(jen.Lit(g.m.Text+": %s is no "+w.noun), jen.Id(w.recv))))
	declare(f, "MarshalText implements encoding.TextMarshaler; JSON uses it too.", "",
		jen.Func().Add(value()).Id("MarshalText").Params().Params(jen.Index().Byte(), jen.Error()).Block(
			invalid.Clone(),
			jen.Return(jen.Index().Byte().Parens(jen.Id(w.recv).Dot("String").Call()), jen.Nil()),
		))
	declare(f, "UnmarshalText implements encoding.TextUnmarshaler; JSON uses it too.", "",
		jen.Func().Add(pointer()).Id("UnmarshalText").Params(jen.Id("text").Index().Byte()).Params(jen.Err().Error()).Block(
			jen.List(jen.Op("*").Id(w.recv), jen.Err()).Op("=").Id(naming.GoParse.Prefix+w.name).Call(jen.String().Call(jen.Id("text"))),
			jen.Return(jen.Err()),
		))
	declare(f, "Value implements driver.Valuer.", "",
		jen.Func().Add(value()).Id("Value").Params().Params(jen.Qual("database/sql/driver", "Value"), jen.Error()).Block(
			invalid.Clone(),
			jen.Return(jen.Id(w.recv).Dot("String").Call(), jen.Nil()),
		))
	declare(f, "Scan implements sql.Scanner.", "",
		jen.Func().Add(pointer()).Id("Scan").Params(jen.Id("src").Any()).Error().Block(
			jen.Switch(jen.Id("src").Op(":=").Id("src").Assert(jen.Type())).Block(
				jen.Case(jen.String()).Block(jen.Return(jen.Id(w.recv).Dot("UnmarshalText").Call(jen.Index().Byte().Parens(jen.Id("src"))))),
				jen.Case(jen.Index().Byte()).Block(jen.Return(jen.Id(w.recv).Dot("UnmarshalText").Call(jen.Id("src")))),
			),
			jen.Return(jen.Qual("fmt", "Errorf").Call(jen.Lit(g.m.Text+": cannot scan %T as "+w.noun), jen.Id("src"))),
		))
}

// wordList emits a function that lists all values.
func (g *generator) wordList(f *jen.File, w *wordType, name string) {
	declare(f, fmt.Sprintf("%s lists every %s in the order of the spec.", name, w.noun), "",
		jen.Func().Id(name).Params().Index().Id(w.name).Block(jen.Return(jen.Index().Id(w.name).ValuesFunc(func(list *jen.Group) {
			for _, c := range w.words {
				list.Id(c.constant)
			}
		}))))
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
	w := &wordType{name: "State", noun: "state", recv: "s"}
	for _, s := range g.m.States {
		w.words = append(w.words, word{constant: naming.Exported(s.Text), text: s.Text, doc: s.Doc})
	}
	g.words(f, w, "State is a state of the machine.", "")
	g.wordList(f, w, "States")
	g.stateKinds(f)
	g.stateFlag(f, "Terminal", "no transition leads out of s. Rows without a target may still act there.",
		func(s *ir.State) bool { return s.Terminal })
	g.stateFlag(f, "Recoverable", "recovery from an error is meaningful in s.",
		func(s *ir.State) bool { return s.Recoverable })
}

func (g *generator) stateKinds(f *jen.File) {
	declare(f, "Kind returns the semantic role of s: initial, operational, snapshot, success, error or terminal.", "",
		jen.Func().Params(jen.Id("s").Id("State")).Id("Kind").Params().String().Block(
			jen.Switch(jen.Id("s")).BlockFunc(func(cases *jen.Group) {
				for _, kind := range []ir.Kind{ir.Initial, ir.Operational, ir.Snapshot, ir.Success, ir.Failed, ir.Terminal} {
					if list := g.statesWith(func(s *ir.State) bool { return s.Kind == kind }); len(list) > 0 {
						cases.Case(list...).Block(jen.Return(jen.Lit(string(kind))))
					}
				}
			}),
			jen.Return(jen.Lit("")),
		))
}

// stateFlag emits a predicate whose switch names every state.
func (g *generator) stateFlag(f *jen.File, name, meaning string, holds func(*ir.State) bool) {
	declare(f, name+" reports whether "+meaning, "",
		jen.Func().Params(jen.Id("s").Id("State")).Id(name).Params().Bool().Block(
			jen.Switch(jen.Id("s")).BlockFunc(func(cases *jen.Group) {
				for _, want := range []bool{true, false} {
					if list := g.statesWith(func(s *ir.State) bool { return holds(s) == want }); len(list) > 0 {
						cases.Case(list...).Block(jen.Return(jen.Lit(want)))
					}
				}
			}),
			jen.Return(jen.False()),
		))
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
