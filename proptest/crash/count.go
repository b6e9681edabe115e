package crash

import (
	"fmt"
	"os"
	"testing"
)

// Count logs a line of a proof, and appends it to the file that FSMGEN_COUNTS names,
// since go test hides the log of a test that passes.
func Count(t testing.TB, format string, args ...any) {
	t.Helper()
	line := fmt.Sprintf(format, args...)
	t.Log(line)
	path := os.Getenv("FSMGEN_COUNTS")
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Errorf("add to the counts: %v", err)
		return
	}
	if _, err := f.WriteString(line + "\n"); err != nil { // one write: lines of other processes stay whole
		t.Errorf("add to the counts: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Errorf("add to the counts: %v", err)
	}
}
