package gen

import (
	"fmt"
	"path"
	"strings"

	"github.com/fsmgen/fsmgen/gen/diag"
	"github.com/fsmgen/fsmgen/gen/docs"
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
}

// Result is what a successful compilation yields.
type Result struct {
	Machines []*ir.Machine
	Files    []File // in the order of the machines; the index comes last
}

// Load parses, lowers and checks the sources together. The machines are
// whole only when the list has no errors.
func Load(sources []Source) ([]*ir.Machine, *diag.List) {
	list := &diag.List{}
	var files []*syntax.File
	for _, s := range sources {
		if f := syntax.Parse(s.Path, s.Data, list); f != nil {
			files = append(files, f)
		}
	}
	machines := ir.Lower(files, list)
	return machines, list
}

// Compile loads the sources and emits every file. When the list has errors
// the result is empty: nothing is emitted unless everything compiled. An
// error is a fault of the compiler itself, never of a spec.
func Compile(sources []Source, o Options) (Result, *diag.List, error) {
	machines, list := Load(sources)
	if list.HasErrors() {
		return Result{}, list, nil
	}
	r := Result{Machines: machines}
	for _, m := range machines {
		m.File = path.Join(strings.TrimPrefix(o.Specs, strings.Repeat("../", strings.Count(o.Specs, "../"))), m.Text+".yaml")
		files, err := emit(m, o)
		if err != nil {
			return Result{}, list, fmt.Errorf("emit machine %s: %w", m.Text, err)
		}
		r.Files = append(r.Files, files...)
	}
	r.Files = append(r.Files, File{"README.md", []byte(docs.Index(machines))})
	return r, list, nil
}

// emit runs every back end over one machine.
func emit(m *ir.Machine, _ Options) ([]File, error) {
	diagram := mermaid.Diagram(m)
	return []File{
		{path.Join(m.Text, "README.md"), []byte(docs.Machine(m, diagram))},
		{path.Join(m.Text, "diagram.mmd"), []byte(diagram)},
	}, nil
}
