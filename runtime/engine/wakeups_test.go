package engine

import (
	"testing"
	"time"
)

// TestAWorkerThatFindsNothingHeedsWakeUpsLater: ever later, up to a bound, until a claim
// finds something. Claims of its own accord say nothing about wake-ups.
func TestAWorkerThatFindsNothingHeedsWakeUpsLater(t *testing.T) {
	u := newWakeups(40 * time.Millisecond)
	claim := func(woken, found bool) {
		if woken && !u.accept(u.claims) {
			t.Error("a wake-up is not accepted")
		}
		u.begin()
		u.end(found)
	}
	for i, tt := range []struct {
		woken, found bool
		delay        time.Duration // after the claim, in milliseconds
	}{
		{true, true, 0}, {false, false, 0}, {true, false, 2}, {true, false, 4}, {false, false, 4}, {true, false, 8},
		{true, false, 10}, {true, false, 10}, {false, true, 0}, {true, false, 2}, {true, true, 0},
	} {
		claim(tt.woken, tt.found)
		if want := tt.delay * time.Millisecond; u.pause(1) != want || u.pause(0) != want/2 {
			t.Errorf("after claim %d a wake-up waits for %v to %v, want %v to %v", i, u.pause(0), u.pause(1), want/2, want)
		}
	}
	if u = newWakeups(time.Hour); u.most != longestDelay {
		t.Errorf("it waits for up to %v, want %v", u.most, longestDelay)
	}
}

// TestAClaimHeedsTheWakeUpsBeforeIt: a wake-up that waited while a claim began leads to
// no other.
func TestAClaimHeedsTheWakeUpsBeforeIt(t *testing.T) {
	u := newWakeups(time.Second)
	before := u.claims
	u.begin()
	if u.accept(before) {
		t.Error("a wake-up leads to a claim though one has begun since")
	}
	if !u.accept(u.claims) {
		t.Error("a wake-up during a claim is not accepted")
	}
}
