package fsmgen_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestRecipesNameWhatExists: each file and folder that CONTRIBUTING.md names is there,
// and so is each recipe.
func TestRecipesNameWhatExists(t *testing.T) {
	text := readAll(t, "CONTRIBUTING.md")
	for _, of := range []string{"An operator", "A type", "A delivery class", "A dialect", "A store", "A subcommand"} {
		if named := placesIn(section(text, of)); len(named) < 4 {
			t.Errorf("the recipe %q names %d files: %v", of, len(named), named)
		}
	}
	for _, place := range placesIn(text) {
		if _, err := os.Stat(place); err != nil {
			t.Errorf("CONTRIBUTING.md names %s: %v", place, err)
		}
	}
}

var heading = regexp.MustCompile(`(?m)^##+ (.*)$`)

// section returns the text below a heading of a page, up to the next one.
func section(page, title string) string {
	for _, at := range heading.FindAllStringSubmatchIndex(page, -1) {
		if page[at[2]:at[3]] != title {
			continue
		}
		rest := page[at[1]:]
		if next := heading.FindStringIndex(rest); next != nil {
			return rest[:next[0]]
		}
		return rest
	}
	return ""
}

// place is a path in code quotes: with a slash or an extension, without a blank, a
// variable or a pattern.
var place = regexp.MustCompile("`([\\w.-]+(?:/[\\w.-]+)*/?)`")

func placesIn(text string) (out []string) {
	for _, m := range place.FindAllStringSubmatch(text, -1) {
		name := m[1]
		if strings.Contains(name, "NAME") || strings.HasPrefix(name, "testdata/") { // any of them
			continue
		}
		if strings.Contains(name, "/") || strings.HasSuffix(name, ".go") || strings.HasSuffix(name, ".md") {
			out = append(out, name)
		}
	}
	return out
}
