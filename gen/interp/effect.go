package interp

import (
	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// Effect is one effect or metric of a step with the values it carries,
// copied at the end of the step. Exactly one of Effect and Metric is set.
type Effect struct {
	Effect *ir.Effect
	Metric *ir.Metric
	Values []NamedValue // the payload, the labels, or the columns
	// Value is what a metric counts or observes; nil: 1.
	Value ir.Value
}

// NamedValue is one value of a payload.
type NamedValue struct {
	Name  string
	Type  ir.Type
	Value ir.Value
}

// Name returns the name of the effect or metric.
func (e Effect) Name() string {
	if e.Metric != nil {
		return e.Metric.Text
	}
	return e.Effect.Text
}

// emit computes the effects of a row in order; a metric only where its
// clauses hold. It is false if a payload does not fit its type.
func emit(row *ir.Row, after *scope) ([]Effect, bool) {
	var out []Effect
	for _, a := range row.Actions {
		e := Effect{Effect: a.Effect, Metric: a.Metric}
		var ok bool
		if a.Metric != nil {
			if firstFalse(a.Metric.When, after) != nil {
				continue
			}
			e.Values, ok = payload(a.Metric.Labels, after)
			if v := a.Metric.Value; ok && v != nil {
				var err error
				e.Value, err = domain.EvalExpr(v, after.read)
				ok = err == nil
			}
		} else {
			e.Values, ok = effectValues(a.Effect, after)
		}
		if !ok {
			return nil, false
		}
		out = append(out, e)
	}
	return out, true
}

func effectValues(e *ir.Effect, after *scope) ([]NamedValue, bool) {
	if e.Table == nil {
		return payload(e.With, after)
	}
	var out []NamedValue
	for _, c := range e.Row {
		v, err := domain.EvalExpr(&c.Value, after.read)
		if err != nil {
			return nil, false
		}
		out = append(out, NamedValue{c.Column.Text, c.Column.Type, v})
	}
	return out, true
}

func payload(with []ir.Payload, after *scope) ([]NamedValue, bool) {
	var out []NamedValue
	for _, p := range with {
		v, err := domain.EvalExpr(&p.Value, after.read)
		if err != nil {
			return nil, false
		}
		out = append(out, NamedValue{p.Name, p.Value.Type, v})
	}
	return out, true
}
