package ir

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/fsmgen/fsmgen/gen/syntax"
)

// declareRecord declares the identity, the record's fields, actors and unique
// constraints.
func (lo *lowering) declareRecord() {
	lo.declareID()
	for _, e := range entries(lo.root.Get("fields")) {
		f := lo.field(e)
		f.Index = len(lo.m.Fields)
		if lo.fields[f.Text] != nil {
			lo.errorf(syntax.CodeDuplicate, f.Span, "give one of the two another name", "field %q has the name of the record's id", f.Text)
			continue
		}
		lo.fields[f.Text] = f
		lo.m.Fields = append(lo.m.Fields, f)
	}
	for i, e := range entries(lo.root.Get("fields")) {
		if d := e.Value.Get("derive"); d != nil && i < len(lo.m.Fields) {
			lo.m.Fields[i].Derive = lo.template(d, lo.fields)
		}
	}
	for _, e := range entries(lo.root.Get("actors")) {
		a := &Actor{Name: declared(e.Key, e.Value)}
		if a.Text == systemActor {
			lo.errorf(syntax.CodeDuplicate, a.Span, "remove it: `system` always exists", "actor %q is reserved", a.Text)
			continue
		}
		a.Is = lo.callerID(e.Value.Get("is"))
		lo.actors[a.Text] = a
		lo.m.Actors = append(lo.m.Actors, a)
	}
	lo.actors[systemActor] = &Actor{Name: Name{Text: systemActor, Doc: "The engine and trusted services.", Span: lo.m.Span}, System: true}
	for _, e := range entries(lo.root.Get("unique")) {
		lo.declareUnique(e)
	}
}

const systemActor = "system"

// callerID is the field that `is` names. It must be of a type that ids have,
// the same for all actors: a caller has one identity.
func (lo *lowering) callerID(is *syntax.Node) *Field {
	if is == nil {
		return nil
	}
	f, ok := lookup(lo, lo.fields, "field", is)
	if !ok || f.Type.Base == "" {
		return nil
	}
	if !f.Type.Base.Identifies() {
		lo.errorf(CodeType, is.Span, "compare with a field of type uuid, string or int", "field %q has type %s, which no caller's id has", f.Text, f.Type)
		return nil
	}
	for _, other := range lo.m.Actors {
		if other.Is != nil && other.Is.Type.Base != f.Type.Base {
			lo.errorf(CodeType, is.Span, "give the two fields one type", "callers' ids have one type, but %q is of type %s and %q, the id of actor %q, of type %s",
				f.Text, f.Type.Base, other.Is.Text, other.Text, other.Is.Type.Base)
			return nil
		}
	}
	return f
}

func (lo *lowering) declareID() {
	lo.m.ID = &Field{Name: Name{Text: "id", Span: lo.m.Span}, Type: Type{Base: UUID}, Immutable: true, Index: -1}
	if id := lo.root.Get("id"); id != nil {
		if len(id.Entries) != 1 {
			lo.errorf(syntax.CodeShape, id.Span, "write one name and its type, such as {order_id: uuid}", "a record has one id, not %d", len(id.Entries))
			return
		}
		e := id.Entries[0]
		lo.m.ID.Name, lo.m.ID.Type = declared(e.Key, nil), lo.parseType(e.Value)
		if lo.m.ID.Type.Optional || !lo.m.ID.Type.Base.Identifies() {
			lo.errorf(CodeType, e.Value.Span, "use uuid, string or int", "an id of type %s is not supported", lo.m.ID.Type)
		}
	}
	lo.fields[lo.m.ID.Text] = lo.m.ID
}

// field declares a field, event field or column from its type or its map.
func (lo *lowering) field(e syntax.Entry) *Field {
	f := &Field{Name: declared(e.Key, e.Value), Index: -1}
	if e.Value.Kind != syntax.Map {
		f.Type = lo.parseType(e.Value)
		return f
	}
	v := e.Value
	f.Type = lo.parseType(v.Get("type"))
	f.Type.Unit = v.TextOf("unit")
	f.Immutable = v.TextOf("immutable") == "true"
	if d := v.Get("default"); d != nil {
		f.Default, f.HasDefault = lo.literal(d, f.Type)
	}
	f.Min, f.Max = lo.bound(v.Get("min"), f.Type), lo.bound(v.Get("max"), f.Type)
	if f.Min != nil && f.Max != nil && *f.Min > *f.Max {
		lo.errorf(CodeType, v.Get("min").Span, "make min at most max", "min %d is larger than max %d", *f.Min, *f.Max)
	}
	if u := v.Get("unit"); u != nil && f.Type.Base != Int {
		lo.errorf(CodeType, u.Span, "only an int has a unit", "unit %q on a field of type %s", u.Text, f.Type)
	}
	if d := v.Get("derive"); d != nil && f.Type.Base != String {
		lo.errorf(CodeType, d.Span, "make the field a string", "a derived field of type %s", f.Type)
	}
	return f
}

func (lo *lowering) bound(n *syntax.Node, t Type) *int64 {
	if n == nil {
		return nil
	}
	v, err := strconv.ParseInt(n.Text, 10, 64)
	if err != nil {
		return nil // reported with the shape
	}
	if !t.Base.Bounded() {
		lo.errorf(CodeType, n.Span, "bounds are for int (the value) and string (the length)", "a bound on a field of type %s", t)
	}
	if t.Base.ByLength() && v < 0 {
		lo.errorf(CodeType, n.Span, "a length is at least 0", "length %d is negative", v)
	}
	return &v
}

func (lo *lowering) declareUnique(e syntax.Entry) {
	u := &Unique{Name: declared(e.Key, e.Value)}
	names := e.Value
	if e.Value.Kind == syntax.Map {
		names = e.Value.Get("fields")
		u.WhileActive = e.Value.TextOf("while") == "active"
	}
	for _, n := range names.Each() {
		if f, ok := lookup(lo, lo.fields, "field", n); ok {
			u.Fields = append(u.Fields, f)
		}
	}
	lo.uniques[u.Text] = u
	lo.m.Uniques = append(lo.m.Uniques, u)
}

// declareTables declares the tables; columns may refer to tables of machines
// declared earlier or later, so references are resolved with the states.
func (lo *lowering) declareTables() {
	for _, e := range entries(lo.root.Get("tables")) {
		t := &Table{Name: declared(e.Key, e.Value), Machine: lo.m}
		for _, c := range entries(e.Value.Get("columns")) {
			t.Columns = append(t.Columns, lo.field(c))
		}
		columns := byName(t.Columns)
		for _, n := range e.Value.Get("key").Each() {
			if c, ok := lookup(lo, columns, "column", n); ok {
				t.Key = append(t.Key, c)
			}
		}
		lo.tables[t.Text] = t
		lo.m.Tables = append(lo.m.Tables, t)
	}
}

func byName(fields []*Field) map[string]*Field {
	m := make(map[string]*Field, len(fields))
	for _, f := range fields {
		m[f.Text] = f
	}
	return m
}

// resolveReferences resolves ref and where of every column.
func (lo *lowering) resolveReferences() {
	for i, e := range entries(lo.root.Get("tables")) {
		if i >= len(lo.m.Tables) {
			return
		}
		for j, c := range entries(e.Value.Get("columns")) {
			ref, where := c.Value.Get("ref"), c.Value.Get("where")
			column := lo.m.Tables[i].Columns[j]
			if where != nil && ref == nil {
				lo.errorf(syntax.CodeMissingKey, where.Span, "add `ref: machine.table`", "column %q has `where` but no `ref`", column.Text)
			}
			if ref == nil {
				continue
			}
			column.Ref = lo.table(ref)
			column.Cascade = c.Value.TextOf("on_delete") == "cascade"
			if column.Ref != nil {
				column.Where = lo.columnValues(where, column.Ref, lo.constants())
			}
		}
	}
}

// table resolves `table` of this machine or `machine.table` of another.
func (lo *lowering) table(n *syntax.Node) *Table {
	owner, name := lo, n.Text
	if machine, rest, dotted := strings.Cut(n.Text, "."); dotted {
		other, ok := lookupText(lo, lo.scope, "machine", machine, n.TextSpan().Within(0, len(machine)))
		if !ok {
			return nil
		}
		owner, name = other, rest
	}
	t, _ := lookupText(lo, owner.tables, "table", name, n.TextSpan())
	return t
}

// columnValues reads {column: value} for a table.
func (lo *lowering) columnValues(n *syntax.Node, t *Table, names *names) []ColumnValue {
	var out []ColumnValue
	columns := byName(t.Columns)
	for _, e := range entries(n) {
		c, ok := lookup(lo, columns, "column", e.Key)
		if !ok {
			continue
		}
		if v, ok := lo.expr(e.Value, c.Type, names); ok {
			out = append(out, ColumnValue{Column: c, Value: v, Span: e.Key.Span})
		}
	}
	return out
}

var hole = regexp.MustCompile(`\{[^{}]*\}`)

// template reads text with {name} holes.
func (lo *lowering) template(n *syntax.Node, fields map[string]*Field) *Template {
	t := &Template{Span: n.TextSpan()}
	rest, at := n.Text, 0
	for _, loc := range hole.FindAllStringIndex(rest, -1) {
		if loc[0] > at {
			t.Parts = append(t.Parts, TemplatePart{Text: rest[at:loc[0]]})
		}
		name := rest[loc[0]+1 : loc[1]-1]
		if f, ok := lookupText(lo, fields, "field", name, t.Span.Within(loc[0]+1, len(name))); ok {
			t.Parts = append(t.Parts, TemplatePart{Field: f})
		}
		at = loc[1]
	}
	if at < len(rest) {
		t.Parts = append(t.Parts, TemplatePart{Text: rest[at:]})
	}
	if strings.ContainsAny(hole.ReplaceAllString(rest, ""), "{}") {
		lo.errorf(syntax.CodeShape, t.Span, "write {name} for each hole", "a brace in %q is not closed", n.Text)
	}
	return t
}

// unit reports two ints with different units.
func unit(a, b Type) (string, bool) {
	return a.Unit + " and " + b.Unit, a.Unit == b.Unit || a.Unit == "" || b.Unit == ""
}
