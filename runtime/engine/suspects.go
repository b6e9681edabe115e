package engine

import (
	"sync"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// suspects counts the running tasks whose messages were cut short twice. Each may have ended the
// processes that carried it out. A worker claims one only if no other is running, so that the end
// of the process uses up no attempt of another suspect.
type suspects struct {
	mu    sync.Mutex
	tasks int
}

// ask returns how many suspects a claim may take. They count as running until claimed.
func (s *suspects) ask() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tasks > 0 {
		return 0
	}
	s.tasks++
	return 1
}

// claimed counts the suspects that a claim returned.
func (s *suspects) claimed(asked int, tasks []store.Task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tasks -= asked
	for _, t := range tasks {
		if t.Suspect() {
			s.tasks++
		}
	}
}

// done ends the task of a suspect.
func (s *suspects) done() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tasks--
}
