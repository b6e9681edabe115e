package guest

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// countsVariable names the file in which a run over many packages collects what
// their proofs counted.
const countsVariable = "FSMGEN_COUNTS"

// countMark begins a line of a guest's output that Enter is to count.
const countMark = "proof: "

// Count logs what a proof counted and adds it to the file that FSMGEN_COUNTS
// names: go test hides the log of a test that passes. What is counted in a guest
// is added outside, by Enter.
func Count(t *testing.T, format string, args ...any) {
	t.Helper()
	line := fmt.Sprintf(format, args...)
	t.Log(countMark + line)
	if !Inside() {
		keep(t, line)
	}
}

// collect adds what was counted in the guest.
func collect(t *testing.T, output string) {
	t.Helper()
	for line := range strings.Lines(output) {
		if _, counted, ok := strings.Cut(line, countMark); ok {
			keep(t, strings.TrimSpace(counted))
		}
	}
}

func keep(t *testing.T, line string) {
	t.Helper()
	path := os.Getenv(countsVariable)
	if path == "" {
		return
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Errorf("add to the counts: %v", err)
		return
	}
	if _, err := file.WriteString(line + "\n"); err != nil { // one write: lines of other processes stay whole
		t.Errorf("add to the counts: %v", err)
	}
	if err := file.Close(); err != nil {
		t.Errorf("add to the counts: %v", err)
	}
}
