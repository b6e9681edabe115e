package golang

import "github.com/dave/jennifer/jen"

// testLegal emits:
//
//	func TestLegal(t *testing.T) {
//		generated().Legal(t, spec(t), (*Record).Legal)
//	}
func (g *generator) testLegal(f *jen.File) {
	f.Comment("What an actor may do is what the interpreter says, and what is accepted.")
	f.Func().Id("TestLegal").Params(jen.Id("t").Op("*").Qual("testing", "T")).Block(
		jen.Id("generated").Call().Dot("Legal").Call(jen.Id("t"), jen.Id("spec").Call(jen.Id("t")), jen.Parens(jen.Op("*").Id("Record")).Dot("Legal")))
	f.Line()
}
