package golang_test

import (
	"bytes"
	"fmt"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/gen/diag"
	"github.com/fsmgen/fsmgen/gen/golang"
	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/syntax"
)

// load compiles the given spec files together.
func load(t *testing.T, paths ...string) []*ir.Machine {
	t.Helper()
	var sources []gen.Source
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, gen.Source{Path: p, Data: data})
	}
	machines, list, err := gen.Load(sources)
	if err != nil {
		t.Fatal(err)
	}
	if list.HasErrors() {
		t.Fatalf("specs do not compile: %v", list.Sorted())
	}
	return machines
}

func specs(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("../../spec/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no specs found: %v", err)
	}
	return paths
}

// embedded is the name of a script that a file embeds.
var embedded = regexp.MustCompile(`(?m)^//go:embed (\S+)$`)

// module writes a Go module that holds the machines and the runtime beside
// them, so that building it needs no other module.
func module(t *testing.T, machines []*ir.Machine) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), []byte("module example.com/machines\n\ngo 1.26\n"))
	for _, folder := range []string{"runtime/fsm", "runtime/client"} {
		copyPackage(t, folder, dir)
	}
	for _, m := range machines {
		for _, f := range emit(t, m) {
			write(t, filepath.Join(dir, m.Text, f.Name), f.Data)
			for _, script := range embedded.FindAllStringSubmatch(string(f.Data), -1) {
				write(t, filepath.Join(dir, m.Text, script[1]), []byte("-- tables\n"))
			}
		}
	}
	return dir
}

// copyPackage copies a package of this module into the one in dir.
func copyPackage(t *testing.T, folder, dir string) {
	t.Helper()
	sources, err := filepath.Glob("../../" + folder + "/*.go")
	if err != nil || len(sources) == 0 {
		t.Fatalf("%s not found: %v", folder, err)
	}
	for _, p := range sources {
		data, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(p, "_test.go") {
			data = bytes.ReplaceAll(data, []byte(`"github.com/fsmgen/fsmgen/`), []byte(`"example.com/machines/`))
			write(t, filepath.Join(dir, folder, filepath.Base(p)), data)
		}
	}
}

func emit(t *testing.T, m *ir.Machine) []golang.File {
	t.Helper()
	files, err := golang.Files(m, golang.Options{Module: "example.com/machines", Source: "spec/" + m.Text + ".yaml"})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// goTool runs the go command in dir and returns what it printed.
func goTool(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// lower parses and lowers without the checker, which refuses machines whose
// raised events may be refused, as those of testdata do to show what happens.
func lower(t *testing.T, path string) []*ir.Machine {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	list := &diag.List{}
	file := syntax.Parse(path, data, list)
	if file == nil {
		t.Fatalf("%s: %v", path, list.Sorted())
	}
	machines := ir.Lower([]*syntax.File{file}, list)
	if list.HasErrors() {
		t.Fatalf("%s: %v", path, list.Sorted())
	}
	return machines
}

// TestSpecsCompile builds and vets all machines of the repository.
func TestSpecsCompile(t *testing.T) {
	dir := module(t, load(t, specs(t)...))
	if out, err := goTool(t, dir, "vet", "./..."); err != nil {
		t.Fatalf("go vet: %v\n%s", err, out)
	}
}

// TestEveryConstructCompiles builds machines that use what no spec does. It
// skips the checker, which has much to say about them: what lowers must compile.
func TestEveryConstructCompiles(t *testing.T) {
	dir := module(t, slices.Concat(lower(t, "testdata/odd.yaml"), lower(t, "testdata/absent.yaml"), lower(t, "testdata/docs.yaml")))
	if out, err := goTool(t, dir, "vet", "./..."); err != nil {
		t.Fatalf("go vet: %v\n%s", err, out)
	}
}

// TestManyStates: more states than a byte counts and a union of types takes.
func TestManyStates(t *testing.T) {
	const states = 300
	var spec strings.Builder
	spec.WriteString("machine: many\nversion: 1.0.0\nstates:\n  s0: {kind: initial}\n")
	for i := 1; i < states; i++ {
		fmt.Fprintf(&spec, "  s%d: {kind: success}\n", i)
	}
	fmt.Fprintf(&spec, "events: {next: {}, skip: {}}\ntransitions:\n  - {name: skip, from: \"*\", on: skip, to: s%d}\n", states-1)
	for i := range states - 1 {
		fmt.Fprintf(&spec, "  - {name: n%d, from: s%d, on: next, to: s%d}\n", i, i, i+1)
	}
	path := filepath.Join(t.TempDir(), "many.yaml")
	write(t, path, []byte(spec.String()))
	dir := module(t, lower(t, path))
	for state, legal := range map[string]bool{"InS7": true, "InS299": false} {
		write(t, filepath.Join(dir, "user/user.go"), []byte("package user\n\nimport (\n\t\"time\"\n\n\t\"example.com/machines/many\"\n)\n\n"+
			"func fire(in many."+state+", now time.Time) (many.View, error) { return many.FireNext(in, now) }\n\nvar _ = fire\n"))
		out, err := goTool(t, dir, "vet", "./...")
		if legal && err != nil || !legal && !strings.Contains(out, "does not satisfy many.NextFrom (missing method fromNext)") {
			t.Errorf("next in %s: %v\n%s", state, err, out)
		}
	}
}

// TestBehaviour runs testdata/behaviour against the package emitted for
// testdata/escrow.yaml.
func TestBehaviour(t *testing.T) {
	dir := module(t, lower(t, "testdata/escrow.yaml"))
	test, err := os.ReadFile("testdata/behaviour/escrow_test.go")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "escrow/escrow_test.go"), test)
	out, err := goTool(t, dir, "test", "-v", "./escrow")
	if err != nil || !strings.Contains(out, "--- PASS: TestAcceptedStepsDoNotAllocate") {
		t.Fatalf("go test: %v\n%s", err, out)
	}
}

// TestIllegalTransitionDoesNotCompile demands that the compiler refuses an
// event that the state lacks, and names the states that have it.
func TestIllegalTransitionDoesNotCompile(t *testing.T) {
	dir := module(t, lower(t, "testdata/escrow.yaml"))
	for _, tt := range []struct{ call, state, complaint string }{
		{"FireLapse(in, ", "InOffered", ""},
		{"FireLapse(in, ", "InPaidIn", "escrow.InPaidIn missing in example.com/machines/escrow.InOffered | "},
		{"FireDrop(in, escrow.Drop{}, ", "InPaidIn", ""},
		{"FireDrop(in, escrow.Drop{}, ", "InReleased", "escrow.InReleased missing in example.com/machines/escrow.InOffered | example.com/machines/escrow.InPaidIn"},
	} {
		write(t, filepath.Join(dir, "user/user.go"), []byte(`package user

import (
	"time"

	"example.com/machines/escrow"
)

func fire(in escrow.`+tt.state+`, now time.Time) (escrow.View, error) {
	return escrow.`+tt.call+`escrow.BySystem(), now)
}

var _ = fire
`))
		out, err := goTool(t, dir, "build", "./user")
		switch {
		case tt.complaint == "" && err != nil:
			t.Errorf("%s%s: %s", tt.call, tt.state, out)
		case tt.complaint != "" && (err == nil || !strings.Contains(out, tt.complaint)):
			t.Errorf("%s%s: the compiler says %v: %s", tt.call, tt.state, err, out)
		}
	}
}

// TestOutputIsFormattedAndStable emits everything twenty times.
func TestOutputIsFormattedAndStable(t *testing.T) {
	for _, m := range load(t, specs(t)...) {
		first := emit(t, m)
		for _, f := range first {
			formatted, err := format.Source(f.Data)
			if err != nil || !bytes.Equal(formatted, f.Data) {
				t.Errorf("%s/%s is not formatted: %v", m.Text, f.Name, err)
			}
			if !strings.HasPrefix(string(f.Data), "// Code generated by fsmgen from spec/"+m.Text+".yaml; DO NOT EDIT.\n") {
				t.Errorf("%s/%s has no header", m.Text, f.Name)
			}
		}
		for range 19 {
			for i, f := range emit(t, m) {
				if !bytes.Equal(f.Data, first[i].Data) {
					t.Fatalf("%s/%s differs from run to run", m.Text, f.Name)
				}
			}
		}
	}
}
