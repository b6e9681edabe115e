package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/fsmgen/fsmgen/gen/check"
	"github.com/fsmgen/fsmgen/gen/diag"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// maxTestFiles bounds the search for tests in a module.
const maxTestFiles = 20_000

var testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// namedTests reports invariants that name a test which the module around dir
// does not have. It says nothing where it can't know: outside of a module, and
// in one that it can't read whole.
func namedTests(dir string, machines []*ir.Machine, list *diag.List) {
	if list.HasErrors() || !namesTest(machines) {
		return
	}
	if root := moduleRoot(dir); root != "" {
		if tests, whole := testFunctions(root); whole {
			check.Tests(machines, func(name string) bool { return tests[name] }, list)
		}
	}
}

func namesTest(machines []*ir.Machine) bool {
	for _, m := range machines {
		for _, inv := range m.Invariants {
			if inv.Test != "" {
				return true
			}
		}
	}
	return false
}

// moduleRoot is the nearest folder at or above dir with a go.mod, or "".
func moduleRoot(dir string) string {
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// testFunctions finds the test functions below root, outside of the folders
// that the go command does not look into.
func testFunctions(root string) (found map[string]bool, whole bool) {
	found, files := map[string]bool{}, 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch name := ""; {
		case err != nil:
			return err
		case d.IsDir():
			name = d.Name()
			if path != root && (name == "testdata" || name == "vendor" || name == "node_modules" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")) {
				return filepath.SkipDir
			}
			return nil
		case !d.Type().IsRegular() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		if files++; files > maxTestFiles {
			return fs.ErrInvalid
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range testFunction.FindAllSubmatch(text, -1) {
			found[string(m[1])] = true
		}
		return nil
	})
	return found, err == nil
}
