package proptest

import (
	"fmt"
	"os"
	"testing"
)

// CountsVariable names the environment variable that names a file. Each test
// adds a line to it with what it counted, so that a run over many packages can
// print all of them: go test hides the log of a test that passes.
const CountsVariable = "FSMGEN_COUNTS"

// Count logs a line of counts, and adds it to the file that CountsVariable names.
func Count(t testing.TB, format string, args ...any) {
	t.Helper()
	line := fmt.Sprintf(format, args...)
	t.Log(line)
	path := os.Getenv(CountsVariable)
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Errorf("add to the counts: %v", err)
		return
	}
	_, err = f.WriteString(line + "\n") // one write: lines of other processes stay whole
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		t.Errorf("add to the counts: %v", err)
	}
}
