package gen_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/internal/pgtest"
	"github.com/fsmgen/fsmgen/proptest"
)

// standards is the folder of tables of published standards, and of the list of
// what their proofs do not reach.
const standards = "testdata/standards"

// TestStandards compiles tables of published standards into a module of their
// own and runs the tests that are generated for them: all on SQLite, and those
// of the schema on PostgreSQL. With FSMGEN_CRASH_EVERY=1 the crash proof and the
// race proof run on PostgreSQL, too, which takes some minutes.
func TestStandards(t *testing.T) {
	fetchModules(t)
	module := writeStandards(t)
	args := []string{"test", "-timeout", "20m"}
	switch {
	case os.Getenv(pgtest.Variable) == "":
		args = append(args, "-skip", "/^postgres$")
	case os.Getenv("FSMGEN_CRASH_EVERY") == "":
		proptest.Count(t, "standards: their crash and race proofs ran on SQLite; on PostgreSQL they run with FSMGEN_CRASH_EVERY=1")
		args = append(args, "-skip", "^Test(Crash|Race)$/^postgres$")
	}
	if out, err := goCommand(t, module, append(args, "./...")...).CombinedOutput(); err != nil {
		t.Fatalf("go test: %v\n%s", err, out)
	}
}

// fetchModules fills the module cache, which may be new, with what a module that
// requires this one reads.
func fetchModules(t *testing.T) {
	t.Helper()
	for _, args := range [][]string{{"mod", "download"}, {"list", "-m", "all"}} {
		if out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput(); err != nil {
			t.Fatalf("go %v: %v\n%s", args, err, out)
		}
	}
}

// goCommand runs the go command in a folder, offline.
func goCommand(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOTOOLCHAIN=local", "GOWORK=off", "GOENV=off")
	return cmd
}

// writeStandards compiles the tables into a module that uses this one.
func writeStandards(t *testing.T) (module string) {
	t.Helper()
	module = t.TempDir()
	sources := readStandards(t)
	for _, s := range sources {
		writeFile(t, module, "spec/"+filepath.Base(s.Path), s.Data)
	}
	writeFile(t, module, "spec/"+gen.UnreachedFile, readStandard(t, filepath.Join(standards, gen.UnreachedFile)))
	writeModule(t, module, "standards")
	result, list, err := gen.Compile(sources, gen.Options{Module: "github.com/fsmgen/fsmgen", Specs: "../../spec", Packages: "standards/generated"})
	if err != nil {
		t.Fatal(err)
	}
	if list.HasErrors() {
		t.Fatalf("a standard does not compile: %s", list.Sorted()[0].Message)
	}
	for _, f := range result.Files {
		writeFile(t, module, "generated/"+f.Path, f.Data)
	}
	return module
}

// writeModule makes dir a module of a name that uses this one.
func writeModule(t *testing.T, dir, name string) {
	t.Helper()
	repo, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, dir, "go.sum", readStandard(t, filepath.Join(repo, "go.sum")))
	writeFile(t, dir, "go.mod", fmt.Appendf(nil, "module %s\n\ngo 1.26\n\nrequire github.com/fsmgen/fsmgen v0.0.0\n\nreplace github.com/fsmgen/fsmgen => %s\n", name, repo))
}

// writeFile writes a file below dir. name has slashes.
func writeFile(t *testing.T, dir, name string, data []byte) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func readStandards(t *testing.T) []gen.Source {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(standards, "*.yaml"))
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d tables of standards: %v", len(paths), err)
	}
	slices.Sort(paths)
	var sources []gen.Source
	for _, path := range paths {
		data := readStandard(t, path)
		if !bytes.HasPrefix(data, []byte("# ")) {
			t.Errorf("%s does not say which standard it is of", path)
		}
		sources = append(sources, gen.Source{Path: filepath.ToSlash(path), Data: data})
	}
	return sources
}

func readStandard(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
