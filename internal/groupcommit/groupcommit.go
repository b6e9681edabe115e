// Package groupcommit batches concurrent calls: calls that arrive while a batch is being
// served wait for its end, and are served as the next batch. A single call never waits
// for others.
package groupcommit

import (
	"errors"
	"slices"
	"sync"
)

// Queue gathers calls about values of type T. The zero value is ready for use.
type Queue[K comparable, T any] struct {
	mu      sync.Mutex
	serving bool
	waiting []*call[K, T]
}

// call is on its way to be served.
type call[K comparable, T any] struct {
	key    K
	what   T
	turn   chan bool // true: it is for this one to serve; false: it was served
	err    error
	shared bool // err is that of several
}

// errNotServed stays where serve panicked.
var errNotServed = errors.New("not served")

// Do serves what, together with up to limit-1 others that wait, in this goroutine
// or in that of one of them, and returns the error of that. No two of one key are
// served together. None fails for another: where serve fails, or panics, for
// several, each of them serves its own.
func (q *Queue[K, T]) Do(key K, what T, limit int, serve func([]T) error) error {
	mine := &call[K, T]{key: key, what: what, turn: make(chan bool, 1), err: errNotServed, shared: true}
	q.join(mine)
	if <-mine.turn {
		q.serveNext(limit, serve)
	}
	if mine.err == nil || !mine.shared {
		return mine.err
	}
	return serve([]T{what})
}

// Waiting is how many calls wait to be served.
func (q *Queue[K, T]) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

func (q *Queue[K, T]) join(mine *call[K, T]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, mine)
	if !q.serving {
		q.serving = true
		mine.turn <- true
	}
}

// serveNext serves what waits. Its caller has the turn.
func (q *Queue[K, T]) serveNext(limit int, serve func([]T) error) {
	next := q.take(limit)
	defer q.pass(next) // also when serve panics
	all := make([]T, len(next))
	for i, c := range next {
		all[i] = c.what
	}
	err := serve(all)
	for _, c := range next {
		c.err, c.shared = err, len(next) > 1
	}
}

// take removes from what waits the first and up to limit-1 others, no two of one
// key.
func (q *Queue[K, T]) take(limit int) (next []*call[K, T]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	taken := map[K]bool{}
	q.waiting = slices.DeleteFunc(q.waiting, func(c *call[K, T]) bool {
		if len(next) == limit || taken[c.key] {
			return false
		}
		taken[c.key] = true
		next = append(next, c)
		return true
	})
	return next
}

// pass tells the others that they are served, and gives the turn to the first of
// those that came meanwhile.
func (q *Queue[K, T]) pass(served []*call[K, T]) {
	for _, c := range served[1:] {
		c.turn <- false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.serving = len(q.waiting) > 0
	if q.serving {
		q.waiting[0].turn <- true
	}
}
