package progress

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// failing is a test that records how it fails.
type failing struct {
	testing.TB
	said string
}

func (f *failing) Helper() {}
func (f *failing) Fatalf(format string, args ...any) {
	f.said = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// fate runs a wait as a test of its own and returns how that failed, if it did.
func fate(t *testing.T, wait func(t testing.TB)) string {
	t.Helper()
	f := &failing{TB: t}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		wait(f)
	}()
	<-ended
	return f.said
}

func TestUntil(t *testing.T) {
	for name, tt := range map[string]struct {
		changes time.Duration // how often the state changes, if at all
		after   time.Duration
		stuck   bool
	}{
		"at once":             {0, 0, false},
		"within the patience": {0, patience / 2, false},
		"never":               {0, 3 * patience, true},
		"slow, with progress": {patience / 2, 3 * patience, false},
		"progress that ends":  {2 * patience, 5 * patience, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				said := fate(t, func(t testing.TB) {
					Until(t, "the parcel", func() (any, bool) {
						waited := time.Since(began)
						if tt.changes == 0 {
							return "on its way", waited >= tt.after
						}
						return int(waited / tt.changes), waited >= tt.after
					})
				})
				if (said != "") != tt.stuck {
					t.Fatalf("after %s: %q", time.Since(began), said)
				}
				if tt.stuck && (!strings.Contains(said, "the parcel") || !strings.Contains(said, ErrStuck.Error())) {
					t.Errorf("said %q", said)
				}
			})
		})
	}
}

// TestSlowLooks: a machine on which each look takes a minute has not been stuck for
// ten of them.
func TestSlowLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		said := fate(t, func(t testing.TB) {
			Until(t, "the parcel", func() (any, bool) {
				time.Sleep(time.Minute)
				looks++
				return nil, looks == 1000
			})
		})
		if said != "" {
			t.Errorf("after %d looks: %s", looks, said)
		}
	})
}

func TestReceive(t *testing.T) {
	for name, tt := range map[string]struct {
		after time.Duration
		stuck bool
	}{
		"at once":             {0, false},
		"within the patience": {patience / 2, false},
		"too late":            {2 * patience, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				parcels, got := make(chan int, 1), 0
				time.AfterFunc(tt.after, func() { parcels <- 7 })
				said := fate(t, func(t testing.TB) { got = Receive(t, "the parcel", parcels) })
				if (said != "") != tt.stuck || !tt.stuck && got != 7 {
					t.Errorf("got %d, %q", got, said)
				}
			})
		})
	}
}

func TestReceiveClosed(t *testing.T) {
	closed := make(chan string)
	close(closed)
	if got := Receive(t, "the end", closed); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestPauseEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var w Watch
	if err := w.Pause(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
