package guest

import (
	"os"
	"path/filepath"
	"testing"
)

// What is counted in a guest is kept once, and outside.
func TestCount(t *testing.T) {
	file := filepath.Join(t.TempDir(), "counts")
	t.Setenv(countsVariable, file)
	t.Setenv(insideVariable, "1")
	Count(t, "%d of %d in a guest", 1, 1)
	if _, err := os.Stat(file); err == nil {
		t.Error("a guest wrote to a file that ends with it")
	}
	t.Setenv(insideVariable, "")
	collect(t, "=== RUN   TestX\n    x_test.go:1: proof: 1 of 1 in a guest\n    x_test.go:2: no proof\n")
	Count(t, "2 of 2 outside")
	if got, err := os.ReadFile(file); err != nil || string(got) != "1 of 1 in a guest\n2 of 2 outside\n" {
		t.Errorf("what was counted is %q, %v", got, err)
	}
}
