package engine

import (
	"slices"
	"sync"

	"github.com/fsmgen/fsmgen/generated/outbox"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// crew is the workers of an engine: every Run that is going on.
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

// there reports whether there is any.
func (c *workerSet[T]) any() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.workers) > 0
}

// wake makes everyone look for work.
func (c *workerSet[T]) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.workers {
		w.wake()
	}
}

// reserve keeps up to n hands of the first who has some.
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

// grip is what a transaction leaves in the hands of a worker of this process:
// the effects that it stores as claimed already, so that nobody has to look for
// them. They are begun when it is committed.
type reservation[T any] struct {
	worker *worker[T] // nil: nothing
	tasks  []task
}

// grasp lets a worker with free hands take effects that are about to be stored:
// those with nothing before them in their lane.
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

// begin sets going what was taken.
func (g reservation[T]) start() {
	if g.worker != nil {
		g.worker.startReserved(g.tasks)
	}
}

// drop gives the hands back. What was stored all the same, without anybody's
// knowing, is claimed when its lease runs out.
func (g reservation[T]) release() {
	if g.worker == nil {
		return
	}
	for _, t := range g.tasks {
		g.worker.engine.destinations.giveBack(t.Effect.Destination)
	}
	g.worker.release(len(g.tasks))
}
