//go:build unix

package diag

import (
	"bytes"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestTextOfALongLine: many problems of one long line cost no more than the line and
// their number. Cutting the line anew for each would cost four hundred times as much
// for twenty times the problems. What is measured is time of the processor.
func TestTextOfALongLine(t *testing.T) {
	cost := func(problems int) time.Duration {
		src := Sources{"x.yaml": []byte(strings.Repeat("a: {}, ", problems))}
		var l List
		for i := range problems {
			l.Errorf("FSM004", span("x.yaml", 1, 7*i+1, 1), "", "%q is written twice", "a")
		}
		start := processor(t)
		text := Text(&l, src, false)
		took := processor(t) - start
		if got := bytes.Count(text, []byte("^\n")); got != problems {
			t.Errorf("%d carets, want %d", got, problems)
		}
		return took
	}
	small, large := cost(500), cost(10_000)
	if large > 60*small+100*time.Millisecond {
		t.Errorf("500 problems take %v of the processor, 10,000 take %v", small, large)
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
