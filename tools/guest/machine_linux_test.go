package main

import (
	"context"
	"testing"
	"time"
)

// TestStuck: at each look the console has a size.
func TestStuck(t *testing.T) {
	for name, tt := range map[string]struct {
		size func(look int) int64
		want bool
	}{
		"it never grows":         {func(int) int64 { return 0 }, true},
		"it stops growing":       {func(n int) int64 { return int64(min(n, 50)) }, true},
		"it grows now and again": {func(n int) int64 { return int64(n / (patience / 2)) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, end := context.WithCancel(t.Context())
			look, looks := make(chan time.Time), 0
			go func() {
				defer end()
				for range 3 * patience {
					select {
					case look <- time.Time{}:
					case <-t.Context().Done(): // it was found to be stuck
						return
					}
				}
			}()
			size := func() int64 { looks++; return tt.size(looks) }
			if got := stuck(ctx, look, size); got != tt.want {
				t.Errorf("after %d looks: %v, want %v", looks, got, tt.want)
			}
		})
	}
}
