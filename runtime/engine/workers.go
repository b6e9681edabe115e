package engine

import (
	"slices"
	"sync"

	"github.com/fsmgen/fsmgen/generated/outbox"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// workerSet is the workers of an engine: one for each running Run.
type workerSet[T any] struct {
	mu      sync.Mutex
	workers []*worker[T]
}

func (c *workerSet[T]) add(w *worker[T]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.workers = append(c.workers, w)
}

func (c *workerSet[T]) remove(w *worker[T]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.workers = slices.DeleteFunc(c.workers, func(other *worker[T]) bool { return other == w })
}

// any reports whether there is a worker.
func (c *workerSet[T]) any() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.workers) > 0
}

// wake makes every worker look for work.
func (c *workerSet[T]) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.workers {
		w.wake()
	}
}

// reserve takes up to n slots of the first worker with free ones.
func (c *workerSet[T]) reserve(n int) (of *worker[T], kept int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.workers {
		if kept = w.reserve(n); kept > 0 {
			return w, kept
		}
	}
	return nil, 0
}

// reservation is the messages that a transaction inserts already claimed by a worker of this
// process. They start after the commit.
type reservation[T any] struct {
	worker *worker[T] // nil: nothing
	tasks  []task
}

// reserve claims messages that are about to be stored, as far as a worker has free slots, and
// pauses and destinations allow it. Only the first message of an ordering key can be claimed.
func (e *Engine[T]) reserve(writes []pendingWrite) (g reservation[T]) {
	if !e.workers.any() {
		return g
	}
	type head struct {
		msg    *OutboxMessage
		record *store.Row // for the event that it answers with
	}
	var heads []head
	for i := range writes {
		w := &writes[i]
		messages := w.heads()
		if len(messages) == 0 {
			continue
		}
		after, _ := w.row(1)
		after.Held = true
		for _, msg := range messages {
			heads = append(heads, head{msg, &after})
		}
	}
	if len(heads) == 0 {
		return g
	}
	heads = slices.DeleteFunc(heads, func(h head) bool { return !e.pauses.allow(*h.msg) || !e.destinations.take(h.msg.Destination) })
	kept := 0
	if len(heads) > 0 {
		g.worker, kept = e.workers.reserve(len(heads))
	}
	for _, h := range heads[kept:] {
		e.destinations.giveBack(h.msg.Destination)
	}
	if kept == 0 {
		return g
	}
	until := e.now().Add(e.config.Lease)
	lease := &store.Lease{Token: e.config.NewToken(), Until: until, Worker: e.config.Worker}
	for _, h := range heads[:kept] {
		g.tasks = append(g.tasks, task{store.Task{Kind: store.TaskEffect, Token: lease.Token, Effect: *h.msg}, until, h.record})
		h.msg.State, h.msg.Attempts, h.msg.Lease = outbox.Delivering.String(), h.msg.Attempts+1, lease
	}
	return g
}

// start starts the tasks of the reservation.
func (g reservation[T]) start() {
	if g.worker != nil {
		g.worker.startReserved(g.tasks)
	}
}

// release gives the slots back. If the transaction was committed although the engine does not know
// it, the messages are claimed when their leases end.
func (g reservation[T]) release() {
	if g.worker == nil {
		return
	}
	for _, t := range g.tasks {
		g.worker.engine.destinations.giveBack(t.Effect.Destination)
	}
	g.worker.release(len(g.tasks))
}
