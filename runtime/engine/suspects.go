package engine

import "sync"

// suspects counts the messages in the hands of a process that were cut short twice. Each
// may be the one that its processes died of, so a worker claims one only while there is no
// other: what ends the process uses up no attempt of another suspect.
type suspects struct {
	mu     sync.Mutex
	inHand int
}

// ask returns how many a claim may take, which count as in hand until claimed.
func (s *suspects) ask() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inHand > 0 {
		return 0
	}
	s.inHand++
	return 1
}

// claimed counts what a claim that asked for some was granted.
func (s *suspects) claimed(asked int, tasks []Task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inHand -= asked
	for _, t := range tasks {
		if t.Suspect() {
			s.inHand++
		}
	}
}

// done ends the attempt at one.
func (s *suspects) done() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inHand--
}
