package check

import (
	"fmt"
	"go/token"
	"regexp"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/gen/diag"
	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/naming"
)

const (
	codeGoCollision  = "FSM011"
	codeReservedName = "FSM013"
)

// namespace is a set of identifiers that must differ.
type namespace struct {
	reporter
	code  diag.Code
	where string
	taken map[string]owner
}

// owner is the declaration that an identifier is derived from; it has no place
// where every machine has the identifier.
type owner struct {
	what string
	at   diag.Span
}

func (r reporter) namespace(code diag.Code, where string, fixed []string) *namespace {
	n := &namespace{r, code, where, map[string]owner{}}
	for _, id := range fixed {
		n.taken[id] = owner{}
	}
	return n
}

// add claims id and reports a clash with another declaration. Two of one kind
// and name are FSM004's business.
func (n *namespace) add(id, kind string, name ir.Name) {
	const help = "give one of the two another name"
	what := fmt.Sprintf("%s %q", kind, name.Text)
	first, clash := n.taken[id]
	switch {
	case !clash:
		n.taken[id] = owner{what, name.Span}
	case first.what == "":
		n.report(n.code, name.Span, "give it another name", "%s becomes %q %s, a name that is taken in every machine", what, id, n.where)
	case first.what != what:
		n.report(n.code, name.Span, help, "%s becomes %q %s, like %s at %s", what, id, n.where, first.what, first.at)
	}
}

// goNames reports names that the generated Go package could not hold apart.
// The scopes are those of package naming.
func (s *subject) goNames() {
	s.packageName()
	for _, st := range s.m.States {
		if word := strings.ToLower(st.Text); naming.IsGoKeyword(word) {
			s.report(codeReservedName, st.Span, fmt.Sprintf("give it another name, such as %q", st.Text+"_state"),
				"state %q has the name of the Go keyword %s", st.Text, word)
		}
	}
	s.packageScope()
	record := s.namespace(codeGoCollision, "in the record's Go type", naming.GoRecordNames())
	record.add(naming.Exported(s.m.ID.Text), "the id", s.m.ID.Name)
	for _, f := range s.m.Fields {
		record.add(naming.Exported(f.Text), "field", f.Name)
	}
	for _, e := range s.writtenEvents() {
		if !e.Internal {
			record.add(naming.Exported(e.Text), "event", e.Name)
		}
	}
	for _, e := range s.m.Events {
		in := s.namespace(codeGoCollision, fmt.Sprintf("in the Go payload of event %q", e.Text), naming.GoPayloadNames())
		for _, f := range e.Fields {
			in.add(naming.Exported(f.Text), "field", f.Name)
		}
		for _, w := range e.Writes {
			in.add(naming.Exported(w.Field.Text), "field", w.Field.Name)
		}
	}
	for _, e := range s.m.Effects {
		in := s.namespace(codeGoCollision, fmt.Sprintf("in the Go payload of effect %q", e.Text), nil)
		for _, p := range e.With {
			in.add(naming.Exported(p.Name), "value", ir.Name{Text: p.Name, Span: p.Span})
		}
	}
	handlers := s.namespace(codeGoCollision, "in the Go interface Handlers", nil)
	for _, e := range s.m.Effects {
		if e.Kind.Handled() {
			handlers.add(naming.GoHandler.Of(e.Text), "effect", e.Name)
		}
		if e.Delivery.Asked() {
			handlers.add(naming.GoQuery.Of(e.Text), "the query of effect", e.Name)
		}
	}
	params := s.namespace(codeGoCollision, "in the Go type of the params", nil)
	for _, p := range s.m.Params {
		params.add(naming.Exported(p.Text), "param", p.Name)
	}
}

func (s *subject) packageScope() {
	scope := s.namespace(codeGoCollision, "in Go", naming.GoPackageNames())
	add := func(kind string, n ir.Name) {
		for _, form := range naming.GoForms(kind) {
			scope.add(form.Of(n.Text), kind, n)
		}
	}
	for _, st := range s.m.States {
		add("state", st.Name)
	}
	for _, e := range s.m.Enums {
		add("enum", e.Name)
		for _, v := range e.Values {
			scope.add(naming.Exported(e.Text)+naming.Exported(v.Text), "value", v)
		}
	}
	for _, e := range s.writtenEvents() {
		add("event", e.Name)
	}
	for _, a := range s.m.Actors {
		add("actor", a.Name)
	}
	for _, e := range s.m.Effects {
		add("effect", e.Name)
	}
	for _, r := range s.m.Rows {
		if !synthetic(r) && r.Reject == nil {
			scope.add(s.transitionConstant(r), "transition", r.Name)
		}
	}
}

// transitionConstant is the Go constant of a row: a row of the spec that
// expands has its source or its event behind the name.
func (s *subject) transitionConstant(r *ir.Row) string {
	id := naming.GoTransition.Of(r.Text)
	if r.From != nil && s.expands(r, func(x *ir.Row) bool { return x.From != r.From }) {
		id += naming.Exported(r.From.Text)
	}
	if s.expands(r, func(x *ir.Row) bool { return x.Event != r.Event }) {
		id += naming.Exported(r.Event.Text)
	}
	return id
}

// expands reports whether another row of r's spec row differs as asked. Rows
// of one spec row are adjacent.
func (s *subject) expands(r *ir.Row, differs func(*ir.Row) bool) bool {
	for i := r.Index - 1; i >= 0 && s.m.Rows[i].Group == r.Group; i-- {
		if differs(s.m.Rows[i]) {
			return true
		}
	}
	for i := r.Index + 1; i < len(s.m.Rows) && s.m.Rows[i].Group == r.Group; i++ {
		if differs(s.m.Rows[i]) {
			return true
		}
	}
	return false
}

var packagePattern = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// packageName demands that the machine's name can name a Go package.
func (s *subject) packageName() {
	name := s.m.Text
	switch {
	case !packagePattern.MatchString(name) || strings.HasSuffix(name, "_test"):
		s.report(codeReservedName, s.m.Span, "use lower case letters, digits and _, beginning with a letter, not ending in _test",
			"machine %q can't name a Go package", name)
	case token.IsKeyword(name) || naming.Unexported(name) != name && naming.Unexported(name) == name+"Value":
		s.report(codeReservedName, s.m.Span, "choose a name that Go does not define", "machine %q has the name of a Go keyword or builtin", name)
	case slices.Contains(platforms(), name[strings.LastIndex(name, "_")+1:]) && strings.Contains(name, "_"):
		s.report(codeReservedName, s.m.Span, "let another word be the last",
			"machine %q ends like a Go file for one platform: elsewhere its tests would not run", name)
	case slices.Contains(reservedPackages(), name):
		s.report(codeReservedName, s.m.Span, "choose a name that no package of the standard library has",
			"machine %q has the name of a Go package that its users import", name)
	}
}

// platforms lists the operating systems and architectures by which the go
// command chooses files: those of go/build.
func platforms() []string {
	return strings.Fields(`
		aix android darwin dragonfly freebsd hurd illumos ios js linux nacl netbsd openbsd plan9 solaris wasip1
		windows zos
		386 amd64 amd64p32 arm arm64 arm64be armbe loong64 mips mips64 mips64le mips64p32 mips64p32le mipsle
		ppc ppc64 ppc64le riscv riscv64 s390 s390x sparc sparc64 wasm`)
}

// reservedPackages lists packages of Go's standard library and of the
// runtime, and names that the go command treats specially or refuses, such as
// those of Windows devices.
func reservedPackages() []string {
	return strings.Fields(`
		bufio builtin bytes cmp context crypto debug documentation embed encoding errors expvar flag fmt fs fsm go hash html
		http image index internal io iter json log main maps math mime net os path plugin proptest rand reflect
		regexp runtime slices slog sort sql strconv strings structs sync syscall template testdata testing text
		time unicode unique unsafe url utf8 vendor weak
		driver engine xml atomic exec signal
		aux con prn nul com1 com2 com3 com4 com5 com6 com7 com8 com9 lpt1 lpt2 lpt3 lpt4 lpt5 lpt6 lpt7 lpt8 lpt9`)
}
