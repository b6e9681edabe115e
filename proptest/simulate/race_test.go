//go:build race

package simulate_test

import (
	"os/exec"
	"testing"
)

// TestRace runs a few seeds under the race detector, and then all tests in a program
// without it: SQLite, which is C translated into Go, is twenty times slower under the
// detector.
func TestRace(t *testing.T) {
	r := runAll(t, 0, func(begun int) bool { return begun < 8 })
	proof(t, "%d seeds under the race detector, %d calls accepted", r.done, r.counts["accepted"])
	out, err := exec.CommandContext(t.Context(), "go", "test", "-race=false", "-count=1", "-v", ".").CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
}
