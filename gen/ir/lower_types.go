package ir

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/gen/diag"
	"github.com/fsmgen/fsmgen/gen/syntax"
)

func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

// declareTypes declares enums, params, actors and failure classes.
func (lo *lowering) declareTypes() {
	for _, e := range entries(lo.root.Get("enums")) {
		enum := &Enum{Name: declared(e.Key, nil)}
		for _, v := range e.Value.Each() {
			if slices.ContainsFunc(enum.Values, func(n Name) bool { return n.Text == v.Text }) {
				lo.errorf(syntax.CodeDuplicate, v.Span, "remove one of the two", "value %q of enum %q is written twice", v.Text, enum.Text)
				continue
			}
			enum.Values = append(enum.Values, Name{Text: v.Text, Doc: v.Comment, Span: v.TextSpan()})
		}
		if len(enum.Values) == 0 {
			lo.errorf(syntax.CodeShape, e.Key.Span, "list its values", "enum %q has no values", enum.Text)
		}
		lo.enums[enum.Text] = enum
		lo.m.Enums = append(lo.m.Enums, enum)
	}
	for _, e := range entries(lo.root.Get("params")) {
		p := &Param{Name: declared(e.Key, e.Value), Type: lo.parseType(e.Value.Get("type"))}
		p.Default, _ = lo.literal(e.Value.Get("default"), p.Type)
		lo.params[p.Text] = p
		lo.m.Params = append(lo.m.Params, p)
	}
	for _, e := range entries(lo.root.Get("failures")) {
		lo.declareFailure(e)
	}
}

func entries(n *syntax.Node) []syntax.Entry {
	if n == nil {
		return nil
	}
	return n.Entries
}

func (lo *lowering) declareFailure(e syntax.Entry) {
	f := &Failure{Name: declared(e.Key, e.Value)}
	f.Status, _ = strconv.Atoi(e.Value.TextOf("status"))
	if s := e.Value.Get("status"); s != nil && (f.Status < 400 || f.Status > 599) {
		lo.errorf(syntax.CodeShape, s.Span, "a refusal has a status from 400 to 599", "status %s does not belong here", s.Text)
	}
	if r := e.Value.Get("retry"); r != nil && r.Kind == syntax.Map {
		f.Retry = &Retry{First: r.TextOf("first"), Max: "5m", Factor: 2}
		if v := r.TextOf("max"); v != "" {
			f.Retry.Max = v
		}
		for key, dst := range map[string]*float64{"factor": &f.Retry.Factor, "jitter": &f.Retry.Jitter} {
			if v := r.TextOf(key); v != "" {
				*dst, _ = strconv.ParseFloat(v, 64)
			}
		}
		f.Retry.Attempts, _ = strconv.Atoi(r.TextOf("attempts"))
		lo.checkRetry(r, f.Retry)
	}
	lo.failures[f.Text] = f
	lo.m.Failures = append(lo.m.Failures, f)
}

func (lo *lowering) checkRetry(n *syntax.Node, r *Retry) {
	first, ok1 := lo.duration(n.Get("first"))
	longest, ok2 := lo.duration(n.Get("max"))
	if ok1 && ok2 && n.Get("max") != nil && longest < first {
		lo.errorf(syntax.CodeShape, n.Get("max").Span, "make max at least first", "the longest delay %s is shorter than the first, %s", r.Max, r.First)
	}
	ranges := []struct {
		key     string
		value   float64
		ok      bool
		allowed string
	}{
		{"factor", r.Factor, r.Factor >= 1 && r.Factor <= 100, "from 1 to 100"},
		{"jitter", r.Jitter, r.Jitter >= 0 && r.Jitter <= 1, "from 0 to 1"},
		{"attempts", float64(r.Attempts), r.Attempts >= 1, "at least 1"},
	}
	for _, c := range ranges {
		if v := n.Get(c.key); v != nil && !c.ok {
			lo.errorf(syntax.CodeShape, v.Span, "write a number "+c.allowed, "%s %s is out of range", c.key, v.Text)
		}
	}
}

// duration parses a positive duration.
func (lo *lowering) duration(n *syntax.Node) (time.Duration, bool) {
	if n == nil {
		return 0, true
	}
	d, err := time.ParseDuration(n.Text)
	switch {
	case err != nil:
		lo.errorf(syntax.CodeShape, n.Span, "write a number with a unit: 200ms, 10s, 5m, 48h", "%q is not a duration", n.Text)
	case d <= 0:
		lo.errorf(syntax.CodeShape, n.Span, "write a duration longer than 0", "duration %s is not positive", n.Text)
	default:
		return d, true
	}
	return 0, false
}

var listType = regexp.MustCompile(`^list<(.+)>$`)

// parseType reads a type. A missing or bad one is reported and read as string.
func (lo *lowering) parseType(n *syntax.Node) Type {
	if n == nil || n.Kind != syntax.Scalar {
		return Type{Base: String}
	}
	text, optional := strings.CutPrefix(n.Text, "optional ")
	t := lo.baseType(strings.TrimSpace(text), n.TextSpan())
	t.Optional = optional
	return t
}

func (lo *lowering) baseType(text string, at diag.Span) Type {
	if slices.Contains(scalars(), Base(text)) {
		return Type{Base: Base(text)}
	}
	if m := listType.FindStringSubmatch(text); m != nil {
		elem := lo.baseType(m[1], at)
		if !elem.Base.InLists() {
			lo.errorf(syntax.CodeShape, at, "use json for nested data", "a list of %s is not a type", elem)
		}
		return Type{Base: ListOf, Elem: &elem}
	}
	if e, ok := lo.enums[text]; ok {
		return Type{Base: EnumOf, Enum: e}
	}
	var known []string
	for _, b := range scalars() {
		known = append(known, string(b))
	}
	known = append(append(known, "list<string>"), sortedKeys(lo.enums)...)
	help := "types: " + strings.Join(known, ", ")
	if near := diag.Nearest(text, known); near != "" {
		help = "did you mean \"" + near + "\"?"
	}
	lo.errorf(CodeUndeclared, at, help, "type %q is not declared", text)
	return Type{Base: String}
}

// scalars lists the base types that are written as one word.
func scalars() []Base {
	return slices.DeleteFunc(BaseTypes(), func(b Base) bool { return !b.IsWord() })
}

// literal reads n as a value of type t; absent is nil.
func (lo *lowering) literal(n *syntax.Node, t Type) (Value, bool) {
	if n == nil {
		return nil, true
	}
	if n.Kind == syntax.Null {
		if !t.Optional {
			lo.errorf(CodeType, n.Span, "write a value, or make the type optional", "null is not a value of type %s", t)
		}
		return nil, t.Optional
	}
	if n.Kind == syntax.List {
		return lo.listLiteral(n, t)
	}
	v, ok := parseLiteral(n.Text, t)
	if !ok {
		lo.errorf(CodeType, n.Span, literalHelp(n.Text, t), "%q is not a value of type %s", n.Text, t)
		return nil, false
	}
	return v, true
}

func (lo *lowering) listLiteral(n *syntax.Node, t Type) (Value, bool) {
	if t.Base != ListOf {
		lo.errorf(CodeType, n.Span, "write one value", "a list is not a value of type %s", t)
		return nil, false
	}
	values := []any{}
	for _, item := range n.Items {
		v, ok := lo.literal(item, *t.Elem)
		if !ok {
			return nil, false
		}
		values = append(values, v)
	}
	return values, true
}

var uuidText = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// parseLiteral parses text as a value of type t and reports whether it fits.
func parseLiteral(text string, t Type) (Value, bool) {
	switch t.Base {
	case String:
		return text, true
	case Int:
		v, err := strconv.ParseInt(text, 10, 64)
		return v, err == nil
	case Bool:
		return text == "true", text == "true" || text == "false"
	case Duration:
		v, err := time.ParseDuration(text)
		return v, err == nil
	case Time:
		v, err := time.Parse(time.RFC3339Nano, text)
		v = v.UTC().Truncate(time.Microsecond)
		return v, err == nil && 1 <= v.Year() && v.Year() <= 9999
	case UUID:
		return text, uuidText.MatchString(text)
	case JSON:
		var b bytes.Buffer
		err := json.Compact(&b, []byte(text))
		return b.String(), err == nil && b.String() != "null"
	case EnumOf:
		declared := slices.ContainsFunc(t.Enum.Values, func(n Name) bool { return n.Text == text })
		return text, declared
	case ListOf: // is no single text
		return nil, false
	}
	panic(NoForm("ir.parseLiteral", t.Base))
}

func literalHelp(text string, t Type) string {
	switch t.Base {
	case EnumOf:
		var names []string
		for _, n := range t.Enum.Values {
			names = append(names, n.Text)
		}
		if near := diag.Nearest(text, names); near != "" {
			return "did you mean \"" + near + "\"?"
		}
		return "values: " + strings.Join(names, ", ")
	case Bool:
		return "write true or false"
	case Int:
		return "write a whole number"
	case Duration:
		return "write a number with a unit: 200ms, 10s, 5m, 48h"
	case Time:
		return "write a time such as 2026-01-31T12:00:00Z"
	case UUID:
		return "write 8-4-4-4-12 lower-case hexadecimal digits"
	case JSON:
		return "write valid JSON in quotes, but not null, which is absence"
	case String, ListOf:
		return "write a value of type " + t.String()
	}
	panic(NoForm("ir.literalHelp", t.Base))
}
