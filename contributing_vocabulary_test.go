package fsmgen_test

import (
	"go/ast"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// recipes are the recipes of CONTRIBUTING.md for a word of a vocabulary, with its types.
var recipes = map[string][]string{
	"An operator":      {"ir.Op"},
	"A type":           {"ir.Base"},
	"A delivery class": {compiledClass, deliveredClass, killedKind},
	"A dialect":        {dialectType},
}

// TestRecipesNameEverySwitch: the recipe for a word names each file that has a switch, or a
// map, over its vocabulary. A new word has to be in each of them.
func TestRecipesNameEverySwitch(t *testing.T) {
	t.Parallel()
	text := readAll(t, "CONTRIBUTING.md")
	all := switchesOf(t)
	for title, types := range recipes {
		var files []string
		for _, of := range types {
			files = append(files, all[of]...)
		}
		if len(files) < 4 {
			t.Errorf("%d files look at %v: the test looks in the wrong place", len(files), types)
		}
		named := placesIn(section(text, title))
		for _, file := range files {
			if !slices.Contains(named, file) {
				t.Errorf("the recipe %q does not name %s, which has a switch over %v", title, file, types)
			}
		}
	}
}

// switchesOf lists the files that have a switch over a vocabulary, or a map with a key for
// each of its words, by the name of the vocabulary.
func switchesOf(t *testing.T) map[string][]string {
	t.Helper()
	words := vocabularies(t)
	out := map[string][]string{}
	for _, root := range []string{"gen", "cmd", "proptest", "runtime"} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.Contains(path, "/generated/") {
				return err
			}
			file := parse(t, path)
			v := words.in(strings.TrimSuffix(file.Name.Name, "_test"))
			ast.Inspect(file, func(n ast.Node) bool {
				of := ""
				switch n := n.(type) {
				case *ast.SwitchStmt:
					if n.Tag != nil {
						of = v.switched(n)
					}
				case *ast.CompositeLit:
					of = v.keyed(n)
				}
				if of != "" && !slices.Contains(out[of], path) {
					out[of] = append(out[of], path)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// keyed returns the vocabulary whose words are the keys of a map literal.
func (v vocabulary) keyed(lit *ast.CompositeLit) string {
	if _, isMap := lit.Type.(*ast.MapType); !isMap {
		return ""
	}
	for _, element := range lit.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			if of := v[nameOf(pair.Key)]; of != "" {
				return of
			}
		}
	}
	return ""
}
