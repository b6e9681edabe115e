package fsmgen_test

import (
	"fmt"
	"go/ast"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// storeProofs are the proofs that list the databases that they run on: each has a file that
// imports the store, with a function that the caller calls.
var storeProofs = []struct{ folder, caller string }{
	{"proptest/attacks", "attacks_test.go"},
	{"proptest/crash", "crash.go"},
	{"proptest/crash", "race.go"},
	{"proptest/simulate", "agree_test.go"},
}

// TestEveryStoreIsProved: a package with the methods of store.Store runs the suites in its
// own tests, has a test of its plans and a line in the documents, and each proof that lists
// databases runs on it. This is the recipe "A store" of CONTRIBUTING.md.
func TestEveryStoreIsProved(t *testing.T) {
	t.Parallel()
	stores := stores(t)
	for _, known := range []string{"adapters/sqlite", "adapters/postgres"} {
		if !slices.Contains(stores, known) {
			t.Fatalf("%s is not found among the stores %v", known, stores)
		}
	}
	for _, folder := range stores {
		for _, missing := range unproved(t, folder) {
			t.Errorf("the store %s %s: see the recipe \"A store\" of CONTRIBUTING.md", folder, missing)
		}
	}
}

// unproved lists what a store lacks.
func unproved(t *testing.T, folder string) (missing []string) {
	t.Helper()
	tests := readAll(t, folder+"/*_test.go")
	for _, run := range []string{"storetest.Run(", "enginecases.Run("} {
		if !strings.Contains(tests, run) {
			missing = append(missing, "has no test that calls "+run+"…)")
		}
	}
	if _, err := os.Stat(folder + "/plan_test.go"); err != nil {
		missing = append(missing, "has no plan_test.go")
	}
	for _, page := range []string{"ARCHITECTURE.md", "runtime/store/doc.go"} {
		if !strings.Contains(readAll(t, page), folder) {
			missing = append(missing, "is not named in "+page)
		}
	}
	for _, proof := range storeProofs {
		caller := calls(parse(t, filepath.Join(proof.folder, proof.caller)))
		if !slices.ContainsFunc(functionsWith(t, proof.folder, module+"/"+folder), func(name string) bool { return caller[name] }) {
			missing = append(missing, fmt.Sprintf("is not proved by %s/%s", proof.folder, proof.caller))
		}
	}
	return missing
}

// stores lists the packages of adapters/ in which a type has the methods of store.Store.
func stores(t *testing.T) (folders []string) {
	t.Helper()
	methods := storeMethods(t)
	found := map[string][]string{} // by package and receiver
	err := filepath.WalkDir("adapters", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		for _, d := range parse(t, path).Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || !slices.Contains(methods, f.Name.Name) {
				continue
			}
			folder := filepath.ToSlash(filepath.Dir(path))
			receiver := folder + "." + receiverOf(f)
			if found[receiver] = append(found[receiver], f.Name.Name); len(found[receiver]) == len(methods) {
				folders = append(folders, folder)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return folders
}

// storeMethods lists the methods of the interface store.Store.
func storeMethods(t *testing.T) (names []string) {
	t.Helper()
	ast.Inspect(parse(t, "runtime/store/store.go"), func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok && spec.Name.Name == "Store" {
			for _, method := range spec.Type.(*ast.InterfaceType).Methods.List {
				names = append(names, method.Names[0].Name)
			}
		}
		return true
	})
	return names
}

func receiverOf(f *ast.FuncDecl) (name string) {
	ast.Inspect(f.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name
		}
		return true
	})
	return name
}

// functionsWith lists the functions in those files of a folder that import a package.
func functionsWith(t *testing.T, folder, imported string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(folder + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		file := parse(t, path)
		if !slices.ContainsFunc(file.Imports, func(spec *ast.ImportSpec) bool { return spec.Path.Value == strconv.Quote(imported) }) {
			continue
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names
}

// calls returns the functions that a file calls, without their packages.
func calls(file *ast.File) map[string]bool {
	called := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			called[bare(nameOf(call.Fun))] = true
		}
		return true
	})
	return called
}
