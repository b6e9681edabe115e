package hangs

import (
	"testing"
	"time"
)

func TestHangs(t *testing.T) {
	t.Log("about to wait")
	waitForNothing(make(chan struct{}))
}

// waitForNothing has a timer, so that the runtime does not say that all goroutines are asleep.
func waitForNothing(c chan struct{}) {
	select {
	case <-c:
	case <-time.After(1000 * time.Hour):
	}
}
