package engine

import (
	"slices"
	"sync"
	"time"

	"github.com/fsmgen/fsmgen/generated/outbox"
)

// crew is the workers of an engine: every Run that is going on.
type crew[Tx any] struct {
	mu      sync.Mutex
	workers []*worker[Tx]
}

func (c *crew[Tx]) join(w *worker[Tx]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.workers = append(c.workers, w)
}

func (c *crew[Tx]) leave(w *worker[Tx]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.workers = slices.DeleteFunc(c.workers, func(other *worker[Tx]) bool { return other == w })
}

// there reports whether there is any.
func (c *crew[Tx]) there() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.workers) > 0
}

// wake makes everyone look for work.
func (c *crew[Tx]) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.workers {
		w.wake()
	}
}

// reserve keeps up to n hands of the first who has some.
func (c *crew[Tx]) reserve(n int) (of *worker[Tx], kept int) {
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
type grip[Tx any] struct {
	worker *worker[Tx] // nil: nothing
	tasks  []Task
	until  time.Time
}

// grasp lets a worker with free hands take effects that are about to be stored:
// those with nothing before them in their lane.
func (e *Engine[Tx]) grasp(plans []plan[Tx]) (g grip[Tx]) {
	if !e.crew.there() {
		return g
	}
	var heads []head
	for i := range plans {
		heads = append(heads, plans[i].heads()...)
	}
	if len(heads) == 0 {
		return g
	}
	kept := 0
	if g.worker, kept = e.crew.reserve(len(heads)); kept == 0 {
		return g
	}
	g.until = e.now().Add(e.config.Lease)
	lease := &Lease{Token: e.config.NewToken(), Until: g.until, Worker: e.config.Worker}
	for _, h := range heads[:kept] {
		g.tasks = append(g.tasks, Task{Kind: TaskEffect, Token: lease.Token, Effect: *h.row, known: h.record})
		h.row.State, h.row.Attempts, h.row.Lease = outbox.Delivering.String(), h.row.Attempts+1, lease
	}
	return g
}

// begin sets going what was taken.
func (g grip[Tx]) begin() {
	if g.worker != nil {
		g.worker.redeem(g.tasks, g.until)
	}
}

// drop gives the hands back. What was stored all the same, without anybody's
// knowing, is claimed when its lease runs out.
func (g grip[Tx]) drop() {
	if g.worker != nil {
		g.worker.release(len(g.tasks))
	}
}

// head is an effect that nothing stands before in its lane.
type head struct {
	row    *OutboxRow
	record *Row // for the event that it answers with; nil: not known
}

// heads are those of p. What is open of a record beside this event may stand in
// any of its lanes; and a handler inside the transaction may lead the record on, so
// that its work is nobody's.
func (p *plan[Tx]) heads() (heads []head) {
	if len(p.calls) > 0 {
		return nil
	}
	for i := range p.commits {
		c := &p.commits[i]
		if len(c.Outbox) == 0 || len(c.Steps) == 0 || c.Steps[0].Version > 1 && !p.alone {
			continue
		}
		var record *Row
		if after, known := p.after(1); known && i == 0 {
			after.Held = true
			record = &after
		}
		lanes := map[string]bool{}
		for j := range c.Outbox {
			if row := &c.Outbox[j]; !lanes[row.Lane] {
				lanes[row.Lane] = true
				heads = append(heads, head{row, record})
			}
		}
	}
	return heads
}

// loud reports whether p leaves something for a worker to look for.
func (p *plan[Tx]) loud() bool {
	return slices.ContainsFunc(p.commits, func(c Commit) bool { return p.leaves(&c) })
}

// leaves reports whether one of its commits does: an effect that nobody has in
// hand, an event that it raised, or, since an effect has ended, the next of its
// lane.
func (p *plan[Tx]) leaves(c *Commit) bool {
	waits := func(row OutboxRow) bool { return row.Lease == nil }
	raised := func(t TimerRow) bool { return t.Kind == TimerRaise }
	unblocks := c.Task != nil && c.Task.Kind == TaskEffect && !p.alone
	return unblocks || slices.ContainsFunc(c.Outbox, waits) || slices.ContainsFunc(c.Arm, raised)
}
