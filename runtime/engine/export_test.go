package engine

import "github.com/fsmgen/fsmgen/runtime/store"

// Answers is how many answers wait while others are being stored.
func (e *Engine[T]) Answers() int { return e.firings.Waiting() }

// AtRest reports whether no worker has anything going on.
func (e *Engine[T]) AtRest() bool {
	e.workers.mu.Lock()
	defer e.workers.mu.Unlock()
	for _, w := range e.workers.workers {
		if !w.is(func() bool { return w.open[store.TaskEffect]+w.open[store.TaskDeadline] == 0 }) {
			return false
		}
	}
	return true
}
