package gen_test

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen"
)

// FuzzCompile feeds the whole compiler. It must never panic, must say
// something when it yields nothing, and whatever Go it yields must compile.
func FuzzCompile(f *testing.F) {
	seeds, err := filepath.Glob("../spec/*.yaml")
	if err != nil || len(seeds) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, path := range append(seeds, "golang/testdata/odd.yaml", "golang/testdata/escrow.yaml", "check/testdata/clean.yaml") {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	for _, e := range formatExamples(f) {
		f.Add(e)
	}
	checker := newTypeChecker(f)
	f.Fuzz(func(t *testing.T, text string) {
		name := "fuzz"
		if m := machineLine.FindStringSubmatch(text); m != nil {
			name = m[1]
		}
		result, list, err := gen.Compile([]gen.Source{{Path: name + ".yaml", Data: []byte(text)}}, options)
		switch {
		case err != nil:
			t.Fatalf("a spec without errors is not emitted: %v", err)
		case list.HasErrors():
			for _, d := range list.Sorted() {
				if d.Message == "" || d.Code == "" || d.Span.Start.Line < 1 {
					t.Errorf("a diagnostic without message, code or place: %+v", d)
				}
			}
			return
		}
		if err := checker.check(result.Files); err != nil {
			t.Errorf("the emitted Go does not compile: %v", err)
		}
	})
}

func formatExamples(f *testing.F) []string {
	text, err := os.ReadFile("../spec/FORMAT.md")
	if err != nil {
		f.Fatal(err)
	}
	var out []string
	for _, m := range yamlBlock.FindAllStringSubmatch(string(text), -1) {
		out = append(out, m[2])
	}
	return out
}

// typeChecker compiles emitted packages in memory.
type typeChecker struct {
	fset     *token.FileSet
	standard types.Importer
	runtime  map[string]*types.Package // what else generated code may import, by its path
}

func newTypeChecker(f testing.TB) *typeChecker {
	fset := token.NewFileSet()
	c := &typeChecker{fset: fset, standard: importer.ForCompiler(fset, "gc", nil), runtime: map[string]*types.Package{}}
	for _, name := range []string{"fsm", "client"} {
		pack, err := c.pack(name, sourcesOf(f, "../runtime/"+name))
		if err != nil {
			f.Fatal(err)
		}
		c.runtime[options.Module+"/runtime/"+name] = pack
	}
	return c
}

// sourcesOf reads the Go files of a folder.
func sourcesOf(f testing.TB, folder string) (files []gen.File) {
	paths, err := filepath.Glob(folder + "/*.go")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		files = append(files, gen.File{Path: filepath.Base(folder) + "/" + filepath.Base(path), Data: data})
	}
	return files
}

// Import finds what generated code may import.
func (c *typeChecker) Import(path string) (*types.Package, error) {
	if pack, ok := c.runtime[path]; ok {
		return pack, nil
	}
	return c.standard.Import(path)
}

func (c *typeChecker) check(files []gen.File) error {
	packages := map[string][]gen.File{}
	for _, file := range files {
		folder := filepath.Dir(file.Path)
		packages[folder] = append(packages[folder], file)
	}
	for folder, files := range packages {
		if _, err := c.pack(folder, files); err != nil {
			return err
		}
	}
	return nil
}

// pack compiles the Go files of one package, without its tests.
func (c *typeChecker) pack(name string, files []gen.File) (*types.Package, error) {
	var parsed []*ast.File
	for _, file := range files {
		if !strings.HasSuffix(file.Path, ".go") || strings.HasSuffix(file.Path, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(c.fset, file.Path, file.Data, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, tree)
	}
	config := types.Config{Importer: c}
	return config.Check(name, c.fset, parsed, nil)
}
