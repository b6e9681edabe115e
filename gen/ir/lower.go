package ir

import (
	"path/filepath"
	"strings"

	"github.com/fsmgen/fsmgen/gen/diag"
	"github.com/fsmgen/fsmgen/gen/syntax"
)

// The codes of the lowering, beside those of package syntax.
const (
	CodeUndeclared = diag.Code("FSM003")
	CodeFileName   = diag.Code("FSM007")
	CodeType       = diag.Code("FSM008")
	CodeNotHere    = diag.Code("FSM009")

	CodeGuardType      = diag.Code("GUARD_TYPE_ERROR")
	CodeGuardUndefined = diag.Code("GUARD_FIELD_UNDEFINED")
)

// Lower resolves the names of all files together, so that one machine may
// refer to another. Machines are in the order of the files. They are whole
// only when l has no errors.
func Lower(files []*syntax.File, l *diag.List) []*Machine {
	scope := map[string]*lowering{}
	var all []*lowering
	for _, f := range files {
		lo := newLowering(f, l, scope)
		if first, dup := scope[lo.m.Text]; dup {
			l.Errorf(CodeFileName, lo.m.Span, "give one of the two another name", "machine %q is also declared at %s", lo.m.Text, first.m.Span)
			continue
		}
		scope[lo.m.Text] = lo
		all = append(all, lo)
	}
	// Each phase runs over all machines before the next one: effects of one
	// machine name tables and creation rows of another.
	for _, phase := range []func(*lowering){
		(*lowering).declareTypes,
		(*lowering).declareRecord,
		(*lowering).declareTables,
		(*lowering).declareStates,
		(*lowering).declareEvents,
		(*lowering).declareEffects,
		(*lowering).resolveStates,
		(*lowering).resolveInvariants,
		(*lowering).resolveRows,
		(*lowering).addSyntheticCreation,
		(*lowering).resolveEffects,
		(*lowering).deriveSources,
	} {
		for _, lo := range all {
			phase(lo)
		}
	}
	machines := make([]*Machine, len(all))
	for i, lo := range all {
		machines[i] = lo.m
	}
	return machines
}

// lowering is the state of one machine's lowering: the machine under
// construction and the names declared so far.
type lowering struct {
	m     *Machine
	root  *syntax.Node
	list  *diag.List
	scope map[string]*lowering // all machines of the run

	enums    map[string]*Enum
	params   map[string]*Param
	actors   map[string]*Actor
	fields   map[string]*Field // record fields and the id
	uniques  map[string]*Unique
	failures map[string]*Failure
	tables   map[string]*Table
	states   map[string]*State
	events   map[string]*Event
	effects  map[string]*Effect
	metrics  map[string]*Metric
	costs    costs
}

func newLowering(f *syntax.File, l *diag.List, scope map[string]*lowering) *lowering {
	lo := &lowering{
		m: &Machine{File: f.Path}, root: f.Root, list: l, scope: scope,
		enums: map[string]*Enum{}, params: map[string]*Param{}, actors: map[string]*Actor{},
		fields: map[string]*Field{}, uniques: map[string]*Unique{}, failures: map[string]*Failure{},
		tables: map[string]*Table{}, states: map[string]*State{}, events: map[string]*Event{},
		effects: map[string]*Effect{}, metrics: map[string]*Metric{},
	}
	lo.header(f)
	return lo
}

func (lo *lowering) header(f *syntax.File) {
	m, root := lo.m, lo.root
	m.Span = root.Span
	if n := root.Get("machine"); n != nil {
		m.Text, m.Span = n.Text, n.TextSpan()
	}
	m.Doc = root.TextOf("doc")
	m.Version = root.TextOf("version")
	m.Strict = root.TextOf("strict") == "true"
	m.RepeatSucceeds = root.TextOf("repeat") == "success"
	base := strings.TrimSuffix(filepath.Base(f.Path), filepath.Ext(f.Path))
	if m.Text != "" && base != m.Text {
		lo.errorf(CodeFileName, m.Span, "rename the file to "+m.Text+".yaml, or the machine to "+base,
			"machine %q stands in file %q", m.Text, filepath.Base(f.Path))
	}
	m.Accepts = accepts(root.Get("accept"))
	s := root.Get("sql")
	m.Storage = Storage{Table: m.Text + "_records", State: "state", History: m.Text + "_history", Span: m.Span}
	for key, dst := range map[string]*string{"table": &m.Storage.Table, "state": &m.Storage.State, "history": &m.Storage.History} {
		if v := s.TextOf(key); v != "" {
			*dst = v
		}
	}
	m.Storage.Partition = s.TextOf("partition") != ""
	if s != nil {
		m.Storage.Span = s.Span
	}
}

// accepts reads CODE: reason and CODE: {NAME: reason}.
func accepts(n *syntax.Node) []*Accept {
	var out []*Accept
	for _, e := range entries(n) {
		code := diag.Code(e.Key.Text)
		if e.Value.Kind == syntax.Scalar {
			out = append(out, &Accept{Code: code, Reason: e.Value.Text, Span: e.Key.Span})
		}
		for _, of := range entries(e.Value) {
			out = append(out, &Accept{Code: code, Name: of.Key.Text, Reason: of.Value.Text, Span: of.Key.Span})
		}
	}
	return out
}

func (lo *lowering) errorf(code diag.Code, at diag.Span, help, format string, args ...any) {
	lo.list.Errorf(code, at, help, format, args...)
}

// declared makes the Name of a declaration.
func declared(key, body *syntax.Node) Name {
	doc := body.TextOf("doc")
	if doc == "" {
		doc = key.Comment
	}
	return Name{Text: key.Text, Doc: doc, Span: key.TextSpan()}
}

// lookup finds name in a table of declarations, or reports it with the
// nearest declared one.
func lookup[T any](lo *lowering, table map[string]T, kind string, n *syntax.Node) (found T, ok bool) {
	if n == nil || n.Kind != syntax.Scalar {
		return found, false
	}
	return lookupText(lo, table, kind, n.Text, n.TextSpan())
}

func lookupText[T any](lo *lowering, table map[string]T, kind, text string, at diag.Span) (found T, ok bool) {
	if found, ok = table[text]; ok {
		return found, true
	}
	if !lo.unread(kind) {
		lo.errorf(CodeUndeclared, at, suggestion(text, table, kind), "%s %q is not declared", kind, text)
	}
	return found, false
}

// sections are the keys under which names of a kind are declared.
var sections = map[string]string{
	"state": "states", "event": "events", "effect": "effects", "field": "fields", "param": "params",
	"enum": "enums", "actor": "actors", "failure class": "failures", "table": "tables",
}

// unread reports whether the section that declares names of a kind could not
// be read, or is missing although it has to be there. That is reported, and
// says all about the names.
func (lo *lowering) unread(kind string) bool {
	key, known := sections[kind]
	n := lo.root.Get(key)
	return known && (n != nil && n.Kind != syntax.Map || n == nil && kind == "state")
}

// suggestion is the help line for a name that is not declared.
func suggestion[T any](text string, table map[string]T, kind string) string {
	names := sortedKeys(table)
	if near := diag.Nearest(text, names); near != "" {
		return "did you mean \"" + near + "\"?"
	}
	if len(names) == 0 {
		return "declare it; this machine declares no " + kind + " yet"
	}
	if len(names) > 12 {
		names = append(names[:12], "…")
	}
	return "declare it, or use one of: " + strings.Join(names, ", ")
}
