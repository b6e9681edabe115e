package fsmgen_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen/check"
)

// TestNothingForgotten fails for a diagnostic code without a script, a
// machine without its package, and an exported name or package without a
// comment.
func TestNothingForgotten(t *testing.T) {
	t.Run("scripts", func(t *testing.T) {
		scripts := readAll(t, "cmd/fsmgen/testdata/script/*.txtar")
		for _, c := range check.Rules() {
			if !strings.Contains(scripts, "["+string(c.Code)+"]") {
				t.Errorf("no script shows the diagnostic %s (%s)", c.Code, c.Title)
			}
		}
	})
	t.Run("machines", func(t *testing.T) {
		specs, err := filepath.Glob("spec/*.yaml")
		if err != nil || len(specs) < 10 {
			t.Fatalf("found %d specs: %v", len(specs), err)
		}
		for _, s := range specs {
			name := strings.TrimSuffix(filepath.Base(s), ".yaml")
			if _, err := os.Stat(filepath.Join("generated", name, "README.md")); err != nil {
				t.Errorf("machine %s has no package: run `make generate`", name)
			}
		}
	})
	t.Run("corpora", func(t *testing.T) {
		for _, target := range fuzzTargets(t) {
			if inputs, _ := os.ReadDir(target); len(inputs) == 0 {
				t.Errorf("a fuzz target has no inputs in %s: run make fuzz, and keep some of what it finds", target)
			}
		}
	})
	t.Run("comments", func(t *testing.T) {
		for folder := range imports(t) {
			checkComments(t, folder)
		}
	})
}

// fuzzTargets returns the folder of inputs of each fuzz target. It leaves out the targets that
// call proptest.Fuzz, which adds the inputs to start from.
func fuzzTargets(t *testing.T) (folders []string) {
	t.Helper()
	declaration := regexp.MustCompile(`(?m)^func (Fuzz\w+)\(.*\n(\tproptest\.Fuzz\()?`)
	machines := 0
	eachTestFile(t, func(file, text string) {
		for _, m := range declaration.FindAllStringSubmatch(text, -1) {
			if m[2] != "" {
				machines++
				continue
			}
			folders = append(folders, filepath.Join(filepath.Dir(file), "testdata", "fuzz", m[1]))
		}
	})
	if len(folders) < 5 || machines < 10 {
		t.Fatalf("found %d fuzz targets, and %d of machines", len(folders), machines)
	}
	return folders
}

func readAll(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no file matches %s: %v", pattern, err)
	}
	var b strings.Builder
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(data)
	}
	return b.String()
}

// checkComments asks for a comment of each exported name. In generated code functions without a
// blank line between them share a comment, as the names of a group do.
func checkComments(t *testing.T, folder string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	generated := strings.Contains("/"+filepath.ToSlash(folder), "/generated/")
	fset, documented := token.NewFileSet(), false
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		documented = documented || f.Doc != nil
		shared := 0 // the line below a declaration
		for _, d := range f.Decls {
			first, last := fset.Position(d.Pos()).Line, fset.Position(d.End()).Line
			grouped := first == shared
			if name := undocumented(d); name != "" && !grouped {
				t.Errorf("%s: exported %s has no comment", fset.Position(d.Pos()), name)
			}
			if shared = 0; generated {
				shared = last + 1
			}
		}
	}
	if !documented {
		t.Errorf("package %s has no package comment", folder)
	}
}

// undocumented returns the first exported name of d without a comment of its
// own or of its group.
func undocumented(d ast.Decl) string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) && (d.Recv == nil || !selfEvident[d.Name.Name]) {
			return d.Name.Name
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() && d.Doc == nil && s.Doc == nil {
					return s.Name.Name
				}
			case *ast.ValueSpec:
				if s.Names[0].IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
					return s.Names[0].Name
				}
			}
		}
	}
	return ""
}

// selfEvident are the methods whose interface says it all.
var selfEvident = map[string]bool{"Error": true, "String": true}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if generic, ok := typ.(*ast.IndexExpr); ok {
		typ = generic.X
	}
	name, ok := typ.(*ast.Ident)
	return ok && name.IsExported()
}

// awaited are the tests that invariants name and that nothing has yet: they
// are about what carries a machine through crashes and races, or about a
// service around it. The list may only shrink.
var awaited = map[string]string{}

// An invariant that only a test enforces names a test that exists, or one that
// is awaited.
func TestInvariantsNameRealTests(t *testing.T) {
	named := map[string]bool{}
	for _, m := range regexp.MustCompile(`\btest: (\w+)`).FindAllStringSubmatch(readAll(t, "spec/*.yaml"), -1) {
		named[m[1]] = true
	}
	if len(named) == 0 {
		t.Fatal("no invariant names a test: the expression is wrong")
	}
	written := testFunctions(t)
	for name := range named {
		if !written[name] && awaited[name] == "" {
			t.Errorf("a spec names the test %s, which does not exist", name)
		}
	}
	for name := range awaited {
		if written[name] || !named[name] {
			t.Errorf("%s is written or no longer named: take it off the list of awaited tests", name)
		}
	}
}

// testFunctions lists the tests and fuzz targets of the module, outside of testdata.
func testFunctions(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	declaration := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	eachTestFile(t, func(_, text string) {
		for _, m := range declaration.FindAllStringSubmatch(text, -1) {
			out[m[1]] = true
		}
	})
	return out
}

// eachTestFile calls f with each file of tests of the module, outside of testdata.
func eachTestFile(t *testing.T, f func(file, text string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != "." && skipped(d.Name()):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(file, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(file)
		if err == nil {
			f(file, string(text))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
