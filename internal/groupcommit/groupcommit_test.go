package groupcommit_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/fsmgen/fsmgen/internal/groupcommit"
)

// served lets a test see what is served together, and when.
type served struct {
	queue groupcommit.Queue[string, string]
	mu    sync.Mutex
	sizes []int
	fail  func([]string) error // nil: it succeeds
	ready chan struct{}        // each batch takes one; closed: none waits
}

func (s *served) do(what string, limit int) error {
	return s.queue.Do(what, what, limit, func(all []string) error {
		<-s.ready
		s.mu.Lock()
		defer s.mu.Unlock()
		s.sizes = append(s.sizes, len(all))
		if s.fail == nil {
			return nil
		}
		return s.fail(all)
	})
}

// come has calls come while the first is being served, and returns what became of
// each.
func (s *served) come(limit int, calls ...string) map[string]error {
	s.ready = make(chan struct{})
	var mu sync.Mutex
	outcomes := map[string]error{}
	var all sync.WaitGroup
	for i, what := range calls {
		all.Go(func() {
			err := s.do(what, limit)
			mu.Lock()
			defer mu.Unlock()
			outcomes[fmt.Sprint(what, "/", i)] = err
		})
		synctest.Wait() // until it is served, or waits
	}
	close(s.ready)
	all.Wait()
	return outcomes
}

func TestCallsThatMeetAreServedTogether(t *testing.T) {
	for _, tt := range []struct {
		name  string
		calls []string
		limit int
		want  string
	}{
		{"one", []string{"a"}, 100, "[1]"},
		{"those that come while one is served", []string{"a", "b", "c", "d"}, 100, "[1 3]"},
		{"no more than the limit", []string{"a", "b", "c", "d", "e"}, 3, "[1 3 1]"},
		{"no two of one key", []string{"a", "b", "c", "b", "b"}, 100, "[1 2 1 1]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &served{}
				for which, err := range s.come(tt.limit, tt.calls...) {
					if err != nil {
						t.Errorf("%s: %v", which, err)
					}
				}
				if got := fmt.Sprint(s.sizes); got != tt.want {
					t.Errorf("served %s, want %s", got, tt.want)
				}
			})
		})
	}
}

// TestAFailureFailsNoOther: what fails several is tried one by one.
func TestAFailureFailsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mine := errors.New("mine")
		s := &served{fail: func(all []string) error {
			for _, what := range all {
				if what == "c" {
					return mine
				}
			}
			return nil
		}}
		for which, err := range s.come(100, "a", "b", "c", "d") {
			if failed := errors.Is(err, mine); failed != (which == "c/2") {
				t.Errorf("%s: %v", which, err)
			}
		}
		if got := fmt.Sprint(s.sizes); got != "[1 3 1 1 1]" {
			t.Errorf("served %s", got)
		}
	})
}

// TestAPanicHoldsNobodyUp: it goes up in the goroutine that served, and the others
// serve for themselves.
func TestAPanicHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &served{ready: make(chan struct{}), fail: func(all []string) error {
			if len(all) > 1 {
				panic("mine")
			}
			return nil
		}}
		var all sync.WaitGroup
		var panics, succeeded int
		var mu sync.Mutex
		for _, what := range []string{"a", "b", "c"} {
			all.Go(func() {
				defer func() {
					v := recover()
					mu.Lock()
					defer mu.Unlock()
					if v != nil {
						panics++
					}
				}()
				if err := s.do(what, 100); err == nil {
					mu.Lock()
					defer mu.Unlock()
					succeeded++
				}
			})
			synctest.Wait()
		}
		close(s.ready)
		all.Wait()
		if panics != 1 || succeeded != 2 {
			t.Errorf("%d panicked and %d were served, want 1 and 2", panics, succeeded)
		}
	})
}
