package fsmgen_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// replaced are words that no declaration of the runtime, the adapters and the proofs is called by,
// with the words of the field that are used instead.
var replaced = map[string]string{
	"letter": "message", "letters": "messages", "lane": "ordering key or destination", "lanes": "ordering keys or destinations",
	"crew": "workers", "grip": "lease or reservation", "hands": "slots", "gather": "group commit",
	"exam": "conformance suite", "scene": "case", "scenes": "cases", "diary": "event log", "judge": "checker", "trap": "failpoint",
	"bait": "failpoint", "life": "scenario", "lives": "scenarios", "dice": "rng", "liar": "fault", "vandal": "fault", "story": "scenario",
}

// TestWords: no declaration has a word of replaced in its name.
func TestWords(t *testing.T) {
	t.Parallel()
	checked := 0
	for folder := range imports(t) {
		if !strings.HasPrefix(folder, "runtime/") && !strings.HasPrefix(folder, "adapters/") && !strings.HasPrefix(folder, "proptest") {
			continue
		}
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for _, name := range declared(t, file) {
				checked++
				words := wordsOf(name)
				for i, word := range words {
					if i > 0 && words[i-1] == "dead" { // a dead letter is called so everywhere
						continue
					}
					if use := replaced[word]; use != "" {
						t.Errorf("%s declares %s: write %s instead of %s", file, name, use, word)
					}
				}
			}
		}
	}
	if checked < 2000 {
		t.Errorf("%d declarations were checked: the test looks in the wrong place", checked)
	}
}

// declared returns the names that a file declares at its top level, with the fields and methods of
// its types.
func declared(t *testing.T, file string) (names []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	names = append(names, strings.TrimSuffix(filepath.Base(file), ".go"))
	add := func(ids ...*ast.Ident) {
		for _, id := range ids {
			names = append(names, id.Name)
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			add(d.Name)
		case *ast.GenDecl:
			ast.Inspect(d, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.TypeSpec:
					add(n.Name)
				case *ast.ValueSpec:
					add(n.Names...)
				case *ast.Field:
					add(n.Names...)
				}
				return true
			})
		}
	}
	return slices.Compact(names)
}

// wordsOf splits a name like NewOutboxMessage or scenes_time into lower-case words.
func wordsOf(name string) (words []string) {
	start := 0
	for i, r := range name {
		if i > start && (unicode.IsUpper(r) || r == '_') {
			words = append(words, strings.ToLower(strings.Trim(name[start:i], "_")))
			start = i
		}
	}
	return append(words, strings.ToLower(strings.Trim(name[start:], "_")))
}
