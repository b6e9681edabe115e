package engine_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTranscripts plays testdata/*.txt: blocks of commands, a line ----, and what
// the commands show. FSMGEN_GOLDEN=1 writes the second half anew. The commands
// are in commands_test.go; nothing sleeps, tick moves the clock.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { play(t, file) })
	}
}

func play(t *testing.T, file string) {
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := newStage(t)
	var got bytes.Buffer
	for i, block := range strings.Split(strings.TrimSpace(string(want)), "\n\n") {
		input, _, _ := strings.Cut(block, "\n----")
		if i > 0 {
			got.WriteString("\n")
		}
		got.WriteString(input + "\n")
		if isComment(input) {
			continue
		}
		for line := range strings.Lines(input) {
			if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") {
				s.run(line)
			}
		}
		fmt.Fprintf(&got, "----\n%s", s.flush())
	}
	if os.Getenv("FSMGEN_GOLDEN") != "" {
		if err := os.WriteFile(file, got.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got.String() != string(want) {
		t.Errorf("%s plays differently (FSMGEN_GOLDEN=1 rewrites it):\n%s", file, difference(string(want), got.String()))
	}
}

// isComment reports whether a block is nothing but comments.
func isComment(block string) bool {
	for line := range strings.Lines(block) {
		if !strings.HasPrefix(line, "#") {
			return false
		}
	}
	return true
}

// difference shows the first line that is another, and what follows.
func difference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	n := 0
	for n < min(len(w), len(g)) && w[n] == g[n] {
		n++
	}
	show := func(lines []string) string {
		return strings.Join(lines[min(n, len(lines)):min(n+12, len(lines))], "\n  ")
	}
	return fmt.Sprintf("line %d\nwant:\n  %s\ngot:\n  %s", n+1, show(w), show(g))
}
