package fsmgen_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
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

// personal are words that no comment of these packages has: a comment names the component or the role.
// The rest of them are metaphors, and words that the field has another one for: to check and to set.
var personal = []string{
	"somebody", "nobody", "anybody", "whoever", "person", "persons", "people", "stead",
	"exam", "exams", "crew", "grip", "diary", "vandal", "story", "heed", "heeds",
	"judge", "judges", "judged", "judging", "armed", "arms", "arming",
}

// TestWords: no file and no declaration has a word of replaced in its name, and no comment a word of
// personal.
func TestWords(t *testing.T) {
	t.Parallel()
	checked, comments := 0, 0
	for _, file := range goFiles(t, "runtime", "adapters", "proptest", "services/deal", "services/internal") {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range append(declared(f), strings.TrimSuffix(filepath.Base(file), ".go")) {
			checked++
			for _, word := range misnamed(name) {
				t.Errorf("%s declares %s: write %s instead of %s", file, name, replaced[word], word)
			}
		}
		for _, group := range f.Comments {
			comments++
			for _, word := range personIn(group.Text()) {
				t.Errorf("%s: a comment says %q: name the component or the role", file, word)
			}
		}
	}
	if checked < 4000 || comments < 4000 {
		t.Errorf("%d declarations and %d comments were checked: the test looks in the wrong place", checked, comments)
	}
}

// TestWordsBite: the words are found in names and in comments.
func TestWordsBite(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"exam_test": true, "TestHandsAreFree": true, "newScene": true, "DeadLetters": false, "deadLetter": false, "OrderingKey": false,
	} {
		if got := len(misnamed(name)) > 0; got != want {
			t.Errorf("%s is misnamed: %v", name, got)
		}
	}
	for text, want := range map[string]bool{"Nobody else writes.": true, "it sits the exam": true, "A trigger judges the row.": true, "set by the step that armed it": true, "No other worker writes.": false} {
		if got := len(personIn(text)) > 0; got != want {
			t.Errorf("%q has a word of these: %v", text, got)
		}
	}
}

// lane finds the word that the column destination of fsm_outbox and the ordering key of a message
// were called by.
var lane = regexp.MustCompile(`(?i)(^|[^a-z])lanes?([^a-z]|$)`)

// saysLane are the files that have a reason to say it.
var saysLane = map[string]string{
	"words_test.go":                         "it forbids the word",
	"CHANGELOG.md":                          "it tells what was renamed",
	"docs/operating.md":                     "it tells what the renaming means for an update",
	"spec/FORMAT.md":                        "an enum of its examples",
	"adapters/postgres/destination_test.go": "it renames the column",
	"adapters/sqlite/destination_test.go":   "it renames the column",
}

// renaming are the migrations that rename the column; those before them have it.
var renaming = map[string]string{
	"adapters/postgres/migrations": "0012_destination.up.sql",
	"adapters/sqlite/migrations":   "0011_destination.up.sql",
}

// TestLaneIsADestination: no other file of any kind says lane.
func TestLaneIsADestination(t *testing.T) {
	t.Parallel()
	said := map[string]bool{}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules"):
			return filepath.SkipDir
		case d.IsDir() || !slices.Contains([]string{".go", ".sql", ".md", ".yaml", ".yml", ".json", ".txt", ".txtar"}, filepath.Ext(file)):
			return nil
		}
		text, err := os.ReadFile(file)
		if said[file] = lane.Match(text); said[file] && saysLane[file] == "" && d.Name() > renaming[filepath.Dir(file)] {
			t.Errorf("%s says %q: write destination, or ordering key (of a record and a destination)", file, strings.TrimSpace(string(lane.Find(text))))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for file := range saysLane {
		if !said[file] {
			t.Errorf("%s does not say lane: remove it from the exceptions", file)
		}
	}
}

// misnamed returns the words of a name that are replaced. A dead letter is called so everywhere.
func misnamed(name string) (found []string) {
	words := wordsOf(name)
	for i, word := range words {
		if replaced[word] != "" && (i == 0 || words[i-1] != "dead") {
			found = append(found, word)
		}
	}
	return found
}

// personIn returns the personal words of a comment.
func personIn(comment string) []string {
	words := strings.FieldsFunc(strings.ToLower(comment), func(r rune) bool { return !unicode.IsLetter(r) })
	return slices.DeleteFunc(words, func(word string) bool { return !slices.Contains(personal, word) })
}

// goFiles lists the Go files below folders, tests among them, without generated packages.
func goFiles(t *testing.T, folders ...string) (files []string) {
	t.Helper()
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(file string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (skipped(d.Name()) || d.Name() == "generated" || isModule(file)):
				return filepath.SkipDir
			case !d.IsDir() && strings.HasSuffix(file, ".go"):
				files = append(files, file)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// declared returns the names that a file declares at its top level, with the fields and methods of
// its types.
func declared(f *ast.File) (names []string) {
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
