package golang

import (
	"time"

	"github.com/dave/jennifer/jen"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// effectInfos emits what the table says about each effect and metric.
func (g *generator) effectInfos(f *jen.File) {
	var infos []jen.Code
	for _, e := range g.m.Effects {
		infos = append(infos, jen.Values(g.effectInfo(e)...))
	}
	for _, x := range g.m.Metrics {
		cells := []jen.Code{
			jen.Id("Name").Op(":").Lit(x.Text), jen.Id("Kind").Op(":").Add(g.fsm("EffectMetric")), jen.Id("Metric").Op(":").Lit(string(x.Type)),
		}
		if len(x.Buckets) > 0 {
			cells = append(cells, jen.Id("Buckets").Op(":").Index().Float64().ValuesFunc(func(list *jen.Group) {
				for _, b := range x.Buckets {
					list.Lit(b)
				}
			}))
		}
		if len(x.Labels) > 0 {
			cells = append(cells, jen.Id("Labels").Op(":").Index().String().ValuesFunc(func(list *jen.Group) {
				for _, l := range x.Labels {
					list.Lit(l.Name)
				}
			}))
		}
		if !x.Of.ByRows() {
			cells = append(cells, jen.Id("Of").Op(":").Add(g.fsm(observedName(x.Of))))
		}
		infos = append(infos, jen.Values(cells...))
	}
	if len(infos) == 0 {
		return
	}
	declare(f, "EffectInfos lists what the table says about each effect, then about each metric.", "",
		jen.Func().Id("EffectInfos").Params().Index().Add(g.fsm("EffectInfo")).Block(
			jen.Return(jen.Index().Add(g.fsm("EffectInfo")).Values(lines(infos)))))
}

// allEffectInfos lists them in an expression: nil where there is nothing to tell.
func (g *generator) allEffectInfos() *jen.Statement {
	if len(g.m.Effects)+len(g.m.Metrics) == 0 {
		return jen.Nil()
	}
	return jen.Id("EffectInfos").Call()
}

// recordIDs are the names of a payload that hold the record's id.
func (g *generator) recordIDs(e *ir.Effect) (names []jen.Code) {
	for _, w := range e.With {
		if w.Value.Kind == ir.Read && w.Value.A.Field == g.m.ID {
			names = append(names, jen.Lit(w.Name))
		}
	}
	return names
}

func (g *generator) effectInfo(e *ir.Effect) []jen.Code {
	cells := []jen.Code{
		jen.Id("Name").Op(":").Lit(e.Text), jen.Id("Kind").Op(":").Add(g.fsm(kindName(e))), jen.Id("Delivery").Op(":").Add(g.fsm(deliveryName(e.Delivery))),
	}
	text := func(name, v string) {
		if v != "" {
			cells = append(cells, jen.Id(name).Op(":").Lit(v))
		}
	}
	if e.Kind.Handled() {
		destination := e.To
		if destination == "" {
			destination = e.Text
		}
		text("Destination", destination)
		if names := g.recordIDs(e); len(names) > 0 {
			cells = append(cells, jen.Id("RecordIDs").Op(":").Index().String().Values(names...))
		}
	}
	flag := func(name string, set bool) {
		if set {
			cells = append(cells, jen.Id(name).Op(":").True())
		}
	}
	flag("Work", e.IsWork())
	flag("HasFails", e.Fails != nil)
	flag("HasLost", e.Lost != nil)
	flag("HasRetry", e.Retry != nil)
	if e.Retry != nil && e.Retry.Retry != nil {
		cells = append(cells, jen.Id("Retry").Op(":").Add(g.retryPolicy(e.Retry.Retry)))
	}
	if e.Cleanup != nil {
		text("Cleanup", e.Cleanup.Text)
	}
	if e.Lock != nil {
		cells = append(cells, jen.Id("Lock").Op(":").Add(g.fsm("Lock")).Values(
			jen.Id("Key").Op(":").Lit(e.Lock.Key.String()), jen.Id("TTL").Op(":").Add(writtenDuration(e.Lock.TTL))))
	}
	if e.Kind == ir.Log {
		text("Level", string(e.Level))
		text("Message", e.Doc)
	}
	if e.Table != nil {
		text("Table", e.Table.Text)
		text("Machine", e.Table.Machine.Text)
	}
	if e.Machine != nil {
		text("Machine", e.Machine.Text)
	}
	return cells
}

func observedName(of ir.Observed) string {
	switch of {
	case ir.OfTimeout:
		return "OfTimeout"
	case ir.OfStateDuration:
		return "OfStateDuration"
	case ir.OfFatal:
		return "OfFatal"
	case ir.OfService:
		return "OfService"
	case ir.OfRows: // has no name: the zero value
	}
	panic(ir.NoForm("golang.observedName", of))
}

func deliveryName(d ir.Delivery) string {
	switch d {
	case ir.InTransaction:
		return "InTransaction"
	case ir.Idempotent:
		return "Idempotent"
	case ir.Keyed:
		return "Keyed"
	case ir.Queryable:
		return "Queryable"
	case ir.AtMostOnce:
		return "AtMostOnce"
	}
	panic(ir.NoForm("golang.deliveryName", d))
}

// failures emits the failure classes of the machine.
func (g *generator) failures(f *jen.File) {
	if len(g.m.Failures) == 0 {
		return
	}
	var list []jen.Code
	for _, x := range g.m.Failures {
		cells := []jen.Code{jen.Id("Name").Op(":").Lit(x.Text)}
		if x.Status != 0 {
			cells = append(cells, jen.Id("Status").Op(":").Lit(x.Status))
		}
		if x.Retry != nil {
			cells = append(cells, jen.Id("Retry").Op(":").Add(g.retryPolicy(x.Retry)))
		}
		list = append(list, jen.Values(cells...))
	}
	declare(f, "Failures lists the failure classes.", "",
		jen.Func().Id("Failures").Params().Index().Add(g.fsm("Failure")).Block(
			jen.Return(jen.Index().Add(g.fsm("Failure")).Values(lines(list)))))
}

func (g *generator) retryPolicy(r *ir.Retry) *jen.Statement {
	cells := []jen.Code{jen.Id("First").Op(":").Add(writtenDuration(r.First))}
	if r.Max != "" {
		cells = append(cells, jen.Id("Max").Op(":").Add(writtenDuration(r.Max)))
	}
	cells = append(cells, jen.Id("Factor").Op(":").Lit(r.Factor))
	if r.Jitter != 0 {
		cells = append(cells, jen.Id("Jitter").Op(":").Lit(r.Jitter))
	}
	return g.fsm("RetryPolicy").Values(append(cells, jen.Id("Attempts").Op(":").Lit(r.Attempts))...)
}

// writtenDuration is a duration that the lowering has found valid.
func writtenDuration(text string) *jen.Statement {
	d, err := time.ParseDuration(text)
	if err != nil {
		d = 0
	}
	return durationLiteral(d)
}
