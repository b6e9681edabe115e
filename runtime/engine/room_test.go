package engine

import (
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// stopped is a clock that does not go on.
type stopped struct{ now time.Time }

func (s *stopped) Now() time.Time { return s.now }

// TestRoomOfADestination follows one with four places and two attempts a second.
func TestRoomOfADestination(t *testing.T) {
	clock := &stopped{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	destinations := []store.Destination{{Machine: "deal", Name: "ton"}, {Machine: "wal", Name: "ton"}}
	d := newDestinations(destinations, Config{Clock: clock, Concurrency: 16, Limits: map[string]Limit{"ton": {AtOnce: 4}}})
	fails := func() {
		for range tripsAfter {
			d.report("ton", true)
		}
	}
	take := func() { d.take("ton") }
	for i, tt := range []struct {
		what string
		do   func()
		room int
	}{
		{"nothing has begun", func() {}, 4},
		{"one runs", take, 3},
		{"its failures open the breaker", fails, 0},
		{"it has ended", func() { d.leave("ton") }, 1},
		{"another is tried", take, 0},
		{"it has succeeded", func() { d.report("ton", false); d.leave("ton") }, 4},
		{"a claim asks for both destinations", func() {
			reserved := d.reserve(destinations, 16)
			if len(reserved) != 2 || reserved[0].Most != 2 || reserved[1].Most != 2 {
				t.Errorf("it may claim %+v", reserved)
			}
		}, 0},
		{"it found one message", func() {
			reserved := []store.Destination{{Machine: "deal", Name: "ton", Most: 2}, {Machine: "wal", Name: "ton", Most: 2}}
			d.claimed(reserved, []store.Task{{Kind: store.TaskEffect, Effect: store.OutboxMessage{Machine: "wal", Destination: "ton"}}})
		}, 3},
	} {
		tt.do()
		if room := d.all["ton"].room(clock.now); room != tt.room {
			t.Fatalf("step %d, %s: there is room for %d, want %d", i, tt.what, room, tt.room)
		}
	}
}

// TestMachinesOfOneDestinationTakeTurns: with one place neither machine is left out.
func TestMachinesOfOneDestinationTakeTurns(t *testing.T) {
	destinations := []store.Destination{{Machine: "deal", Name: "ton"}, {Machine: "wal", Name: "ton"}}
	d := newDestinations(destinations, Config{Clock: &stopped{}, Concurrency: 16, Limits: map[string]Limit{"ton": {AtOnce: 1}}})
	seen := map[string]int{}
	for range 4 {
		reserved := d.reserve(destinations, 16)
		seen[reserved[0].Machine]++
		d.claimed(reserved, nil)
	}
	if seen["deal"] != 2 || seen["wal"] != 2 {
		t.Errorf("turns %v", seen)
	}
}
