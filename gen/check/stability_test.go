package check_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen/check"
)

// TestCodesKeepTheirMeaning: each code of testdata/codes.txt has the title that it had, and a new
// code has a line there. A line with "-" as its title is a code that is gone, whose number stays unused.
func TestCodesKeepTheirMeaning(t *testing.T) {
	t.Parallel()
	const file = "testdata/codes.txt"
	if os.Getenv("FSMGEN_GOLDEN") != "" {
		addCodes(t, file)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	kept := map[string]string{}
	for line := range strings.Lines(string(data)) {
		code, title, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		kept[code] = title
	}
	for _, r := range check.Rules() {
		switch title := kept[string(r.Code)]; title {
		case r.Title:
		case "":
			t.Errorf("%s has no line in %s: run make golden", r.Code, file)
		case "-":
			t.Errorf("%s was the number of a code that is gone: take the next free number for %q", r.Code, r.Title)
		default:
			t.Errorf("%s was %q and is %q now: a code keeps its meaning", r.Code, title, r.Title)
		}
		delete(kept, string(r.Code))
	}
	for code, title := range kept {
		if title != "-" {
			t.Errorf("%s (%s) is gone: write - as its title in %s, so that its number stays unused", code, title, file)
		}
	}
}

// addCodes adds lines for new codes. It changes no line.
func addCodes(t *testing.T, file string) {
	t.Helper()
	data, _ := os.ReadFile(file) // the first time there is none
	for _, r := range check.Rules() {
		if line := string(r.Code) + " "; !strings.HasPrefix(string(data), line) && !strings.Contains(string(data), "\n"+line) {
			data = fmt.Appendf(data, "%s%s\n", line, r.Title)
		}
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
