package proptest

import (
	"bufio"
	"bytes"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/naming"
)

// NegativeCompile type-checks one program for each state and public event,
// which fires the event on the typed view of the state: it must compile where
// the table has a row, and where it has none it must not. The package under
// test is the one in the working directory, as go test arranges.
func NegativeCompile(t *testing.T, spec *Spec) {
	t.Helper()
	imports, path, err := exports()
	if err != nil {
		t.Fatal(err)
	}
	machine, err := imports.Import(path)
	if err != nil {
		t.Fatal(err)
	}
	legal, illegal := 0, 0
	for _, ev := range spec.Machine.Events {
		if ev.Internal {
			continue
		}
		for _, state := range spec.Machine.States {
			err := typeCheck(program(machine, state, ev), imports)
			switch accepts := hasRow(spec.Machine, state, ev); {
			case accepts && err != nil:
				t.Errorf("%s in %s is legal and does not compile: %v", ev, state, err)
			case !accepts && err == nil:
				t.Errorf("%s in %s is illegal and compiles", ev, state)
			case !accepts && !explains(err):
				t.Errorf("%s in %s does not compile for another reason: %v", ev, state, err)
			case accepts:
				legal++
			default:
				illegal++
			}
		}
	}
	Count(t, "%s: %d legal programs compile, %d illegal ones do not", spec.Machine, legal, illegal)
}

// program fires ev on the view of state, with parameters for whatever else
// the firing function takes:
//
//	package program
//
//	import machine "example.com/deal"
//	import "time"
//
//	func fire(in machine.InDraft, a1 machine.Actor, a2 time.Time) { machine.FireSubmitOffer(in, a1, a2) }
func program(machine *types.Package, state *ir.State, ev *ir.Event) string {
	imports := fmt.Sprintf("import machine %q\n", machine.Path())
	qualify := func(p *types.Package) string {
		if p.Path() == machine.Path() {
			return "machine"
		}
		if line := fmt.Sprintf("import %q\n", p.Path()); !strings.Contains(imports, line) {
			imports += line
		}
		return p.Name()
	}
	fire := naming.GoFire.Of(ev.Text)
	params, args := "in machine."+naming.GoIn.Of(state.Text), "in"
	if f, ok := machine.Scope().Lookup(fire).(*types.Func); ok {
		for i := 1; i < f.Signature().Params().Len(); i++ {
			params += fmt.Sprintf(", a%d %s", i, types.TypeString(f.Signature().Params().At(i).Type(), qualify))
			args += fmt.Sprintf(", a%d", i)
		}
	}
	return fmt.Sprintf("package program\n\n%s\nfunc fire(%s) { machine.%s(%s) }\n", imports, params, fire, args)
}

// explains reports whether the compiler's message is about the state: it is
// not the one or not among those that the function accepts, or no state is
// and the function does not exist.
func explains(err error) bool {
	for _, words := range []string{"does not satisfy", "cannot use in (", "undefined: machine.Fire"} {
		if strings.Contains(err.Error(), words) {
			return true
		}
	}
	return false
}

func hasRow(m *ir.Machine, state *ir.State, ev *ir.Event) bool {
	return slices.ContainsFunc(m.Rows, func(r *ir.Row) bool { return r.From == state && r.Event == ev && r.Reject == nil })
}

// exports returns an importer for the package in the working directory and
// all that it imports, from the export data of the build cache, and the
// package's path.
func exports() (imports types.Importer, path string, err error) {
	list := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}", ".")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, "", fmt.Errorf("go list -export: %w", err)
	}
	files := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var file string
		path, file, _ = strings.Cut(lines.Text(), "\t")
		files[path] = file
	}
	// The package itself comes last.
	lookup := func(path string) (io.ReadCloser, error) { return os.Open(files[path]) }
	return importer.ForCompiler(token.NewFileSet(), "gc", lookup), path, nil
}

func typeCheck(source string, imports types.Importer) error {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "program.go", source, 0)
	if err != nil {
		return err
	}
	config := types.Config{Importer: imports}
	_, err = config.Check("program", fset, []*ast.File{file}, nil)
	return err
}
