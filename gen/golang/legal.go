package golang

import (
	"github.com/dave/jennifer/jen"

	"github.com/fsmgen/fsmgen/gen/naming"
)

// legality emits what an actor may do with a record now, and why not the rest. The
// rows of a state are data there; what follows from them is decided by fsm.Verdicts.
func (g *generator) legality(f *jen.File) {
	options := g.byStateOf(g.optionsIn)
	in := read(g.givens(nil), options.texts()...)
	g.legalMethod(f, in)
	g.optionsMethods(f, options, in)
	g.offerMethod(f)
	g.engineLegal(f)
}

// legalMethod emits:
//
//	func (r *Record) Legal(c Call) []fsm.Verdict {
//		options := r.options(c.By)
//		return fsm.Verdicts(r.reject(fsm.ErrInvalidTransition, 0, c.By), eventWords.List, options, DecodeEvent, func(e Payload) error {
//			if r.State == 0 {
//				_, _, err := FireNew(r.DealID, e, c)
//				return err
//			}
//			next := *r
//			_, err := Fire(&next, e, c)
//			return err
//		})
//	}
func (g *generator) legalMethod(f *jen.File, in []given) {
	reject := []jen.Code{g.fsm("ErrInvalidTransition"), jen.Lit(0)}
	if g.hasActors() {
		reject = append(reject, jen.Id("c").Dot("By"))
	}
	try := jen.Func().Params(jen.Id("e").Id("Payload")).Error().Block(
		jen.If(jen.Id("r").Dot("State").Op("==").Lit(0)).Block(
			jen.List(jen.Id("_"), jen.Id("_"), jen.Err()).Op(":=").Id("FireNew").Call(jen.Id("r").Dot(naming.Exported(g.m.ID.Text)), jen.Id("e"), jen.Id("c")),
			jen.Return(jen.Err())),
		jen.Id("next").Op(":=").Op("*").Id("r"),
		jen.List(jen.Id("_"), jen.Err()).Op(":=").Id("Fire").Call(jen.Op("&").Id("next"), jen.Id("e"), jen.Id("c")),
		jen.Return(jen.Err()))
	declare(f, "Legal judges every event for the caller of c, in the order of the spec: what it may fire at r at that\n"+
		"time, and why not the rest. A record without a state is one before its creation.", "",
		jen.Func().Add(receiver()).Id("Legal").Params(jen.Id("c").Id("Call")).Index().Add(g.fsm("Verdict")).Block(
			jen.Id("options").Op(":=").Id("r").Dot("options").Call(g.ofCaller(in)...),
			jen.Return(g.fsm("Verdicts").Call(jen.Id("r").Dot("reject").Call(reject...), jen.Id("eventWords").Dot("List"), jen.Id("options"), jen.Id("DecodeEvent"), try))))
}

// ofCaller are the arguments for in with which Legal asks for the options.
func (g *generator) ofCaller(in []given) []jen.Code {
	var args []jen.Code
	for _, x := range in {
		switch x.name {
		case "by":
			args = append(args, jen.Id("c").Dot("By"))
		case "p":
			args = append(args, jen.Id("c").Dot("Params"))
		case "now":
			args = append(args, g.fsm("Instant").Call(jen.Id("c").Dot("Now")))
		}
	}
	return args
}

// engineLegal emits:
//
//	func (m core) Legal(r fsm.Record, by fsm.Caller, now time.Time) ([]fsm.Verdict, error) {
//		record, err := recordOf(r)
//		if err != nil {
//			return nil, err
//		}
//		c := Call{Params: m.params, Now: now}
//		if c.By, err = actorOf(by); err != nil {
//			return nil, err
//		}
//		return record.Legal(c), nil
//	}
func (g *generator) engineLegal(f *jen.File) {
	body := []jen.Code{
		jen.List(jen.Id("record"), jen.Err()).Op(":=").Id("recordOf").Call(jen.Id("r")),
		jen.If(jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Nil(), jen.Err())),
		jen.Id("c").Op(":=").Add(g.callLiteral(nil, jen.Id("now"))),
	}
	if g.hasActors() {
		body = append(body,
			jen.If(jen.List(jen.Id("c").Dot("By"), jen.Err()).Op("=").Id("actorOf").Call(jen.Id("by")), jen.Err().Op("!=").Nil()).Block(
				jen.Return(jen.Nil(), jen.Err())))
	}
	coreMethod(f, "Legal", "judges every event for a caller, in the order of the spec: what it may fire at r now, and why not the rest.",
		[]jen.Code{jen.Id("r").Add(g.fsm("Record")), jen.Id("by").Add(g.fsm("Caller")), jen.Id("now").Qual("time", "Time")},
		jen.Params(jen.Index().Add(g.fsm("Verdict")), jen.Error()),
		append(body, jen.Return(jen.Id("record").Dot("Legal").Call(jen.Id("c")), jen.Nil()))...)
}
