package engine

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// TestWhatAWorkerCanBegin: as much as it has hands, and no more than twice that
// before it is stored.
func TestWhatAWorkerCanBegin(t *testing.T) {
	w := newWorker(&Engine[struct{}]{config: Config{Concurrency: 2}}, t.Context())
	begins := func() { w.occupy(store.TaskEffect, 1) }
	happens := func() { w.busy[store.TaskEffect]-- }
	ends := func() { w.open[store.TaskEffect]-- }
	for i, tt := range []struct {
		step func()
		free int
	}{
		{func() {}, 2}, {begins, 1}, {begins, 0}, {happens, 1}, {happens, 2}, {begins, 1}, {begins, 0},
		{happens, 0}, {happens, 0}, {ends, 1}, {ends, 2}, {ends, 2}, {ends, 2},
	} {
		if tt.step(); w.free(store.TaskEffect) != tt.free || w.free(store.TaskDeadline) != 2 {
			t.Errorf("after step %d %d effects and %d deadlines can begin, want %d and 2", i, w.free(store.TaskEffect), w.free(store.TaskDeadline), tt.free)
		}
	}
}

// TestAWorkerThatIsBehindWaitsForSlots: half of them, or what there is after a
// moment; one that keeps up does not wait.
func TestAWorkerThatIsBehindWaitsForSlots(t *testing.T) {
	for _, tt := range []struct {
		name   string
		behind bool
		ends   time.Duration // between one task and the next
		free   int
		took   time.Duration
	}{
		{"it keeps up", false, time.Millisecond, 0, 0},
		{"tasks end soon", true, time.Millisecond, 5, 5 * time.Millisecond},
		{"tasks take their time", true, 4 * time.Millisecond, 2, slotWait},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const slots = 10
				w := newWorker(&Engine[struct{}]{config: Config{Concurrency: slots}}, context.Background())
				w.busy[store.TaskEffect], w.open[store.TaskEffect], w.behind[store.TaskEffect] = slots, slots, tt.behind
				var tasks sync.WaitGroup
				defer tasks.Wait()
				tasks.Go(func() {
					for range slots {
						time.Sleep(tt.ends) // of the bubble's clock
						w.change(func() { w.busy[store.TaskEffect]-- })
					}
				})
				begin := time.Now()
				w.awaitSlots(context.Background())
				took, free := time.Since(begin), 0
				w.is(func() bool { free = w.free(store.TaskEffect); return true })
				if took != tt.took || free != tt.free {
					t.Errorf("%d hands are free after %v, want %d after %v", free, took, tt.free, tt.took)
				}
			})
		})
	}
}
