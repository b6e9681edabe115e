package fsmgen_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestPromisesHaveTests: each test that SECURITY.md or STABILITY.md names exists, and each row of
// their tables names one.
func TestPromisesHaveTests(t *testing.T) {
	t.Parallel()
	tests := testFunctions(t)
	name := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`")
	for _, file := range []string{"SECURITY.md", "STABILITY.md", "docs/deals.md"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		for line := range strings.Lines(string(data)) {
			found := name.FindAllStringSubmatch(line, -1)
			for _, f := range found {
				if !tests[f[1]] {
					t.Errorf("%s names %s, and there is no such test", file, f[1])
				}
			}
			if row := strings.HasPrefix(line, "| ") && !strings.HasSuffix(line, "| test |\n"); row {
				rows++
				if len(found) == 0 {
					t.Errorf("%s: a promise names no test: %s", file, line)
				}
			}
		}
		if rows < 5 {
			t.Errorf("%s has %d promises: the test looks in the wrong place", file, rows)
		}
	}
}
