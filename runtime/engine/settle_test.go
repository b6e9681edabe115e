package engine

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
)

// storing lets a test see what a settler stores, and when.
type storing struct {
	settler
	mu    sync.Mutex
	calls [][]*Settlement
	fail  func([]*Settlement) error // nil: it succeeds
	ready chan struct{}             // each call takes one; closed: none waits
}

func (s *storing) end(record string, limit int) error {
	return s.store(Settlement{Machine: "deal", RecordID: record, MessageID: "m-" + record}, limit, func(all []*Settlement) error {
		<-s.ready
		s.mu.Lock()
		defer s.mu.Unlock()
		s.calls = append(s.calls, all)
		if s.fail == nil {
			return nil
		}
		return s.fail(all)
	})
}

// sizes returns how many settlements each call had.
func (s *storing) sizes() string {
	var out []int
	for _, all := range s.calls {
		out = append(out, len(all))
	}
	return fmt.Sprint(out)
}

// ends has endings come while the first is being stored, one of each record,
// and returns what became of each.
func (s *storing) ends(limit int, records ...string) map[string]error {
	s.ready = make(chan struct{})
	var mu sync.Mutex
	outcomes := map[string]error{}
	var all sync.WaitGroup
	for i, record := range records {
		all.Go(func() {
			err := s.end(record, limit)
			mu.Lock()
			defer mu.Unlock()
			outcomes[fmt.Sprint(record, "/", i)] = err
		})
		synctest.Wait() // until it is stored, or waits
	}
	close(s.ready)
	all.Wait()
	return outcomes
}

func TestEndingsThatMeetAreStoredTogether(t *testing.T) {
	for _, tt := range []struct {
		name    string
		records []string
		limit   int
		want    string
	}{
		{"one", []string{"a"}, 100, "[1]"},
		{"those that come while one is stored", []string{"a", "b", "c", "d"}, 100, "[1 3]"},
		{"no more than the limit", []string{"a", "b", "c", "d", "e"}, 3, "[1 3 1]"},
		{"no two of one record", []string{"a", "b", "c", "b", "b"}, 100, "[1 2 1 1]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &storing{}
				for which, err := range s.ends(tt.limit, tt.records...) {
					if err != nil {
						t.Errorf("%s: %v", which, err)
					}
				}
				if s.sizes() != tt.want {
					t.Errorf("stored %s, want %s", s.sizes(), tt.want)
				}
			})
		})
	}
}

// TestALostLeaseFailsNoOther: what fails several is tried one by one.
func TestALostLeaseFailsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &storing{fail: func(all []*Settlement) error {
			for _, x := range all {
				if x.RecordID == "c" {
					return ErrLeaseLost
				}
			}
			return nil
		}}
		for which, err := range s.ends(100, "a", "b", "c", "d") {
			if lost := errors.Is(err, ErrLeaseLost); lost != (which == "c/2") {
				t.Errorf("%s: %v", which, err)
			}
		}
		if s.sizes() != "[1 3 1 1 1]" {
			t.Errorf("stored %s", s.sizes())
		}
	})
}

// TestAPanicWhileStoringHoldsNobodyUp: it goes up in the goroutine that stored,
// and the others store for themselves.
func TestAPanicWhileStoringHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &storing{ready: make(chan struct{}), fail: func(all []*Settlement) error {
			if len(all) > 1 {
				panic("the store")
			}
			return nil
		}}
		var all sync.WaitGroup
		var panics, stored int
		var mu sync.Mutex
		for _, record := range []string{"a", "b", "c"} {
			all.Go(func() {
				defer func() {
					v := recover()
					mu.Lock()
					defer mu.Unlock()
					if v != nil {
						panics++
					}
				}()
				if err := s.end(record, 100); err == nil {
					mu.Lock()
					defer mu.Unlock()
					stored++
				}
			})
			synctest.Wait()
		}
		close(s.ready)
		all.Wait()
		if panics != 1 || stored != 2 {
			t.Errorf("%d panicked and %d were stored, want 1 and 2", panics, stored)
		}
	})
}
