package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEveryCommandIsShown: each command has its line in the help with an example, one in
// the README, a script in which it works, and one in which it refuses a command line.
func TestEveryCommandIsShown(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	scripts := allScripts(t)
	for _, c := range newRoot(&world{}).Commands() {
		name := "fsmgen " + c.Name()
		if c.Short == "" || !strings.Contains(c.Example, name) {
			t.Errorf("the help of %s has no summary, or no example", name)
		}
		if !strings.Contains(string(readme), "| `"+name) {
			t.Errorf("README.md does not list %s", name)
		}
		for what, pattern := range map[string]string{
			"in which it works":                         `(?m)^exec ` + name + `\b`,
			"in which it refuses a command line with 2": `(?m)^exec sh -c '` + name + `\b.*\[ \$\? = 2 \]`,
		} {
			if !regexp.MustCompile(pattern).MatchString(scripts) {
				t.Errorf("no script of testdata/script has %s %s", name, what)
			}
		}
	}
}

func allScripts(t *testing.T) string {
	t.Helper()
	paths, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(data)
		text.WriteByte('\n')
	}
	return text.String()
}
