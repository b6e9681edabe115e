package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
)

// settle stores the outcome of a task that fires nothing.
func (e *Engine[Tx]) settle(ctx context.Context, s Settlement) error {
	return e.patiently(ctx, func(ctx context.Context) error {
		return e.endings.store(s, e.config.Batch, func(all []*Settlement) error { return e.storeEndings(ctx, all) })
	})
}

// storeEndings stores settlements in one transaction, all or none.
func (e *Engine[Tx]) storeEndings(ctx context.Context, all []*Settlement) error {
	defer e.crew.wake() // their lanes go on
	if len(all) == 1 {
		return e.store.InTx(ctx, func(tx Tx) error { return e.store.Settle(ctx, tx, *all[0]) })
	}
	// In the order in which a batch of firings locks what belongs to the records.
	slices.SortFunc(all, func(a, b *Settlement) int {
		return cmp.Or(cmp.Compare(a.Machine, b.Machine), cmp.Compare(a.RecordID, b.RecordID))
	})
	commits := make([]Commit, len(all))
	for i, s := range all {
		commits[i] = Commit{Machine: s.Machine, ID: s.RecordID, Task: s, Last: i == len(all)-1}
	}
	return e.store.InTx(ctx, func(tx Tx) error { return e.store.Save(ctx, tx, commits) })
}

// settler stores the endings of tasks. Those that come while others are being
// stored wait for that and are then stored together, by the goroutine of the
// first of them. None waits for company, and none fails for another.
type settler struct {
	mu      sync.Mutex
	storing bool
	waiting []*ending
}

// ending is a settlement on its way to the store.
type ending struct {
	Settlement
	turn   chan bool // true: it is for this one to store; false: it was done
	err    error
	shared bool // err is that of several
}

// errNotStored stays where storing panicked.
var errNotStored = errors.New("not stored")

// store returns when s is stored by f, or why it is not.
func (q *settler) store(s Settlement, limit int, f func([]*Settlement) error) error {
	mine := &ending{Settlement: s, turn: make(chan bool, 1), err: errNotStored, shared: true}
	q.join(mine)
	if <-mine.turn {
		q.storeNext(limit, f)
	}
	if mine.err == nil || !mine.shared {
		return mine.err
	}
	return f([]*Settlement{&mine.Settlement}) // one by one tells whose failure it was
}

func (q *settler) join(mine *ending) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, mine)
	if !q.storing {
		q.storing = true
		mine.turn <- true
	}
}

// storeNext stores what waits. Its caller has the turn.
func (q *settler) storeNext(limit int, f func([]*Settlement) error) {
	next := q.take(limit)
	defer q.pass(next) // also when f panics
	all := make([]*Settlement, len(next))
	for i, e := range next {
		all[i] = &e.Settlement
	}
	err := f(all)
	for _, e := range next {
		e.err, e.shared = err, len(next) > 1
	}
}

// take removes from what waits the first and up to limit others, no two of one
// record: an event that leaves the state locks all of its record's, and in no
// order that one could keep to.
func (q *settler) take(limit int) (next []*ending) {
	q.mu.Lock()
	defer q.mu.Unlock()
	taken := map[place]bool{}
	var left []*ending
	for _, e := range q.waiting {
		at := place{e.Machine, e.RecordID}
		if len(next) == limit || taken[at] {
			left = append(left, e)
			continue
		}
		taken[at] = true
		next = append(next, e)
	}
	q.waiting = left
	return next
}

// pass tells the others that they are done, and gives the turn to the first of
// those that came meanwhile.
func (q *settler) pass(done []*ending) {
	for _, e := range done[1:] {
		e.turn <- false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.storing = len(q.waiting) > 0
	if q.storing {
		q.waiting[0].turn <- true
	}
}
