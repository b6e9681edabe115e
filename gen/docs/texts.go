package docs

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// names returns the spelled names of items.
func names[T fmt.Stringer](items []T) []string {
	out := make([]string, len(items))
	for i, item := range items {
		out[i] = item.String()
	}
	return out
}

// clauseTexts returns guards as written.
func clauseTexts(clauses []*ir.Clause) []string {
	out := make([]string, len(clauses))
	for i, c := range clauses {
		out[i] = c.Text
	}
	return out
}

// assignTexts returns assignments as `field: value`.
func assignTexts(assigns []ir.Assign) []string {
	out := make([]string, len(assigns))
	for i, a := range assigns {
		out[i] = a.Target.Text + ": " + a.Value.Text
	}
	return out
}

// actionNames returns the effects and metrics of actions in order.
func actionNames(actions []ir.Action) []string {
	out := make([]string, len(actions))
	for i, a := range actions {
		out[i] = actionName(a)
	}
	return out
}

func actionName(a ir.Action) string {
	if a.Metric != nil {
		return a.Metric.Text
	}
	return a.Effect.Text
}

// fireText returns EVENT or EVENT(field: value, …).
func fireText(f *ir.Fire) string {
	if f == nil {
		return ""
	}
	if len(f.Args) == 0 {
		return f.Event.Text
	}
	return f.Event.Text + "(" + strings.Join(assignTexts(f.Args), ", ") + ")"
}

// typeText returns the type with its unit.
func typeText(t ir.Type) string {
	if t.Unit != "" {
		return t.String() + " (" + t.Unit + ")"
	}
	return t.String()
}

// valueText returns v as a spec would write it.
func valueText(v ir.Value) string {
	switch v := v.(type) {
	case nil:
		return ""
	case time.Duration:
		return durationText(v)
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = valueText(item)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case string:
		if v == "" {
			return `""`
		}
	}
	return fmt.Sprint(v)
}

// durationText leaves out zero parts: 48h, not 48h0m0s.
func durationText(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// operandDuration returns the length of a timeout and the param that sets it.
func operandDuration(o *ir.Operand) (length, param string) {
	switch {
	case o.Param != nil:
		return valueText(o.Param.Default), o.Param.Text
	case o.IsLit:
		return valueText(o.Literal), ""
	}
	return "$" + o.Text, ""
}

// bound returns a bound of a field's value, or of its length.
func bound(f *ir.Field, n int64) string {
	text := strconv.FormatInt(n, 10)
	switch {
	case !f.Type.Base.ByLength():
		return text
	case n == 1:
		return text + " character"
	}
	return text + " characters"
}

// fieldRules returns what restricts a field.
func fieldRules(f *ir.Field) []string {
	var rules []string
	if f.Immutable {
		rules = append(rules, "write-once")
	}
	switch {
	case f.Min != nil && f.Max != nil && *f.Min == *f.Max:
		rules = append(rules, bound(f, *f.Min))
	case f.Min != nil && f.Max != nil:
		rules = append(rules, strconv.FormatInt(*f.Min, 10)+" to "+bound(f, *f.Max))
	case f.Min != nil:
		rules = append(rules, "at least "+bound(f, *f.Min))
	case f.Max != nil:
		rules = append(rules, "at most "+bound(f, *f.Max))
	}
	if f.Derive != nil {
		rules = append(rules, "derived: "+code(f.Derive.String()))
	}
	if f.Ref != nil {
		rule := "refers to " + code(f.Ref.Machine.Text+"."+f.Ref.Text)
		for i, w := range f.Where {
			rule += map[bool]string{true: " where ", false: " and "}[i == 0] + code(w.Column.Text+" = "+w.Value.Text)
		}
		rules = append(rules, rule)
	}
	return rules
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
