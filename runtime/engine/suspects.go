package engine

import (
	"sync"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// suspects counts the tasks of a process whose messages were cut short twice. Each may have
// ended the processes that carried it out, so a worker claims one only while there is no
// other: what ends the process uses up no attempt of another suspect.
type suspects struct {
	mu    sync.Mutex
	tasks int
}

// ask returns how many a claim may take, which counts until claimed.
func (s *suspects) ask() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tasks > 0 {
		return 0
	}
	s.tasks++
	return 1
}

// claimed counts what a claim that asked for some was granted.
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

// done ends the attempt at one.
func (s *suspects) done() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tasks--
}
