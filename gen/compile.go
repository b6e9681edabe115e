package gen

import (
	"fmt"
	"path"
	"slices"

	"github.com/fsmgen/fsmgen/gen/check"
	"github.com/fsmgen/fsmgen/gen/ddl"
	"github.com/fsmgen/fsmgen/gen/diag"
	"github.com/fsmgen/fsmgen/gen/docs"
	"github.com/fsmgen/fsmgen/gen/golang"
	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/mermaid"
	"github.com/fsmgen/fsmgen/gen/syntax"
)

// Source is one spec file.
type Source struct {
	Path string // as diagnostics shall name it
	Data []byte
}

// File is one file to write. Path has slashes and is relative to the output
// folder.
type File struct {
	Path string
	Data []byte
}

// Options say where the output will stand.
type Options struct {
	// Module is the import path of the runtime, without /runtime/fsm.
	Module string
	// Specs is the way from a generated package to the folder of the specs,
	// with slashes: "../../spec".
	Specs string
	// Packages is the import path of the output folder. "": it is in no module,
	// and the tests that import a generated package are left out.
	Packages string
	// Unreached is what the proofs of a machine do not reach, by machine: see
	// [UnreachedFile].
	Unreached map[string]string
}

// Result is what a successful compilation yields.
type Result struct {
	Machines []*ir.Machine
	Files    []File // in the order of the machines; the index comes last
}

// Load parses, lowers and checks the sources together. The machines are
// whole only when the list has no errors. An error is a fault of the compiler
// itself, never of a spec.
func Load(sources []Source) (machines []*ir.Machine, list *diag.List, err error) {
	defer returnNoForm(&err)
	list = &diag.List{}
	var files []*syntax.File
	for _, s := range sources {
		if f := syntax.Parse(s.Path, s.Data, list); f != nil {
			files = append(files, f)
		}
	}
	machines = ir.Lower(files, list)
	whole := sound(machines, list)
	check.Check(whole, list)
	check.Accept(whole, excerpts(sources), list)
	return machines, list, nil
}

func excerpts(sources []Source) diag.Sources {
	out := diag.Sources{}
	for _, s := range sources {
		out[s.Path] = s.Data
	}
	return out
}

// sound returns the machines that were lowered without an error and refer to
// such machines only: the rules judge whole machines, but a fault in one file
// does not hide those of the others.
func sound(machines []*ir.Machine, list *diag.List) []*ir.Machine {
	broken := map[string]bool{}
	for _, d := range list.Sorted() {
		if d.Severity == diag.Error {
			broken[d.Span.File] = true
		}
	}
	var out []*ir.Machine
	for _, m := range machines {
		if !broken[m.File] && !slices.ContainsFunc(refersTo(m), func(o *ir.Machine) bool { return broken[o.File] }) {
			out = append(out, m)
		}
	}
	return out
}

// refersTo lists the machines whose tables m refers to or writes, and those
// that it starts.
func refersTo(m *ir.Machine) []*ir.Machine {
	var out []*ir.Machine
	for _, e := range m.Effects {
		if e.Machine != nil {
			out = append(out, e.Machine)
		}
		if e.Table != nil {
			out = append(out, e.Table.Machine)
		}
	}
	for _, t := range m.Tables {
		for _, c := range t.Columns {
			if c.Ref != nil {
				out = append(out, c.Ref.Machine)
			}
		}
	}
	return out
}

// groupOf lists m and the machines that it needs in an engine and in a database:
// those that it refers to, and, where another machine starts it, the first one
// that does; with what these need in turn.
func groupOf(m *ir.Machine, machines []*ir.Machine) []*ir.Machine {
	group := closure([]*ir.Machine{m})
	if slices.ContainsFunc(group, func(o *ir.Machine) bool { return starts(o, m) }) {
		return group
	}
	if i := slices.IndexFunc(machines, func(o *ir.Machine) bool { return starts(o, m) }); i >= 0 {
		group = closure(append(group, machines[i]))
	}
	return group
}

func starts(a, b *ir.Machine) bool {
	return slices.ContainsFunc(a.Effects, func(e *ir.Effect) bool { return e.Machine == b })
}

// closure adds what the machines refer to, and what that refers to.
func closure(group []*ir.Machine) []*ir.Machine {
	for i := 0; i < len(group); i++ {
		for _, o := range refersTo(group[i]) {
			if !slices.Contains(group, o) {
				group = append(group, o)
			}
		}
	}
	return group
}

// Compile loads the sources and emits every file. When the list has errors
// the result is empty: nothing is emitted unless everything compiled. An
// error is a fault of the compiler itself, never of a spec.
func Compile(sources []Source, o Options) (r Result, list *diag.List, err error) {
	defer returnNoForm(&err)
	machines, list, err := Load(sources)
	if err != nil || list.HasErrors() {
		return Result{}, list, err
	}
	var files []File
	for _, m := range machines {
		m.File = path.Join(path.Base(o.Specs), m.Text+".yaml") // the same on every machine
		own, err := emit(m, groupOf(m, machines), o)
		if err != nil {
			return Result{}, list, fmt.Errorf("emit machine %s: %w", m.Text, err)
		}
		files = append(files, own...)
	}
	files = append(files, File{"roles.sql", []byte(ddl.PostgresRoles(machines))}, File{"README.md", []byte(docs.Index(machines))})
	return Result{Machines: machines, Files: files}, list, nil
}

// returnNoForm, deferred, turns the panic of a stage that has no form for a value into
// err: see [ir.NoForm]. Every other panic goes on.
func returnNoForm(err *error) {
	switch gap := recover().(type) {
	case nil:
	case *ir.NoFormError:
		*err = gap
	default:
		panic(gap)
	}
}

// emit runs every back end over one machine.
func emit(m *ir.Machine, group []*ir.Machine, o Options) ([]File, error) {
	goOptions := golang.Options{Module: o.Module, Source: m.File, Packages: o.Packages}
	code, err := golang.Files(m, goOptions)
	if err != nil {
		return nil, err
	}
	tests, err := golang.TestFile(m, goOptions, o.Specs)
	if err != nil {
		return nil, err
	}
	code = append(code, tests)
	if o.Packages != "" {
		crash, err := golang.CrashFile(group, goOptions, o.Specs)
		if err != nil {
			return nil, err
		}
		code = append(code, crash)
	}
	var files []File
	for _, f := range code {
		files = append(files, File{path.Join(m.Text, f.Name), f.Data})
	}
	diagram := mermaid.Diagram(m)
	return append(files, []File{
		{path.Join(m.Text, "postgres.sql"), []byte(ddl.Postgres(m))},
		{path.Join(m.Text, "sqlite.sql"), []byte(ddl.SQLite(m))},
		{path.Join(m.Text, "README.md"), []byte(docs.Machine(m, diagram) + docs.Unreached(o.Unreached[m.Text]))},
		{path.Join(m.Text, "diagram.mmd"), []byte("%% Code generated by fsmgen from " + m.File + "; DO NOT EDIT.\n" + diagram)},
	}...), nil
}
