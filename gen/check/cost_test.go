//go:build unix

package check

import (
	"syscall"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/gen/diag"
)

// TestCostIsLinear: rows are judged within their (state, event), so ten times the rows
// may cost about ten times as much. What is measured is time of the processor, which a
// busy machine does not change much; the bound is generous.
func TestCostIsLinear(t *testing.T) {
	cost := func(rows int) time.Duration {
		machines := lowered(t, largeSpec(rows))
		best := time.Hour
		for range 3 {
			start := processor(t)
			Check(machines, &diag.List{})
			best = min(best, processor(t)-start)
		}
		return best
	}
	small, large := cost(500), cost(5000)
	if large > 40*small+100*time.Millisecond {
		t.Errorf("500 rows take %v of the processor, 5000 rows %v", small, large)
	}
}

// processor returns the time of the processor that this process has used.
func processor(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
