package engine

import (
	"context"
	"sync"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// worker is one Run: its slots and its tasks. It has Config.Concurrency slots for each kind of
// task. A slot is free again when the effect has happened. The task is open until its outcome is
// stored; there are at most twice as many open tasks as slots.
type worker[T any] struct {
	engine  *Engine[T]
	working context.Context // of its tasks
	changed chan struct{}   // holds a value when Run should look at what follows
	unsure  fsm.UUID        // the token of a claim that may have been granted; zero: none. Run alone uses it

	mu       sync.Mutex
	busy     map[store.TaskKind]int
	open     map[store.TaskKind]int
	reserved int                     // of the open ones: those of transactions under way
	behind   map[store.TaskKind]bool // more of a kind is due than there were slots
	due      bool                    // there may be something to claim
	wakeups  wakeups                 // of the store
	stopped  bool                    // it takes nothing more
}

func newWorker[T any](e *Engine[T], working context.Context) *worker[T] {
	return &worker[T]{
		engine: e, working: working, changed: make(chan struct{}, 1),
		busy: map[store.TaskKind]int{}, open: map[store.TaskKind]int{}, behind: map[store.TaskKind]bool{},
		wakeups: newWakeups(e.config.PollInterval),
	}
}

// change changes the state of the worker and wakes Run.
func (w *worker[T]) change(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
	select {
	case w.changed <- struct{}{}:
	default: // Run has not yet looked at the change before
	}
}

// is evaluates f under the worker's lock.
func (w *worker[T]) is(f func() bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return f()
}

// free returns how many tasks of a kind can start. The caller holds the lock; so do the callers of
// all methods here that do not take it.
func (w *worker[T]) free(kind store.TaskKind) int {
	slots := w.engine.config.Concurrency
	return min(slots-w.busy[kind], 2*slots-w.open[kind])
}

// reserve takes up to n slots for messages that are about to be stored. A worker that is behind
// has none: new messages must not overtake waiting ones.
func (w *worker[T]) reserve(n int) (kept int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped || w.behind[store.TaskEffect] {
		return 0
	}
	kept = max(0, min(n, w.free(store.TaskEffect)))
	w.behind[store.TaskEffect] = kept < n
	w.occupy(store.TaskEffect, kept)
	w.reserved += kept
	return kept
}

// release gives back reserved slots that were not used.
func (w *worker[T]) release(n int) {
	w.change(func() {
		w.occupy(store.TaskEffect, -n)
		w.reserved -= n
	})
}

// startReserved starts tasks in reserved slots.
func (w *worker[T]) startReserved(tasks []task) {
	w.change(func() { w.reserved -= len(tasks) })
	for _, t := range tasks {
		w.start(t)
	}
}

func (w *worker[T]) occupy(kind store.TaskKind, n int) {
	w.busy[kind] += n
	w.open[kind] += n
}

// wake makes Run look for work.
func (w *worker[T]) wake() { w.change(func() { w.due = true }) }

// round claims as many tasks as there are free slots, and starts them.
func (w *worker[T]) round(ctx context.Context) error {
	w.awaitSlots(ctx)
	if !w.until(ctx, func() bool { return w.free(store.TaskEffect) > 0 || w.free(store.TaskDeadline) > 0 }, nil) {
		return nil
	}
	asked := w.takeSlots(w.engine.config.Batch)
	reserved := w.engine.destinations.reserve(w.engine.pauses.left().destinations, asked[store.TaskEffect])
	c := store.Claim{
		Token: w.unsure, Again: w.unsure != fsm.UUID{}, Destinations: reserved, Effects: asked[store.TaskEffect], Suspects: w.engine.suspects.ask(), Deadlines: asked[store.TaskDeadline],
	}
	if !c.Again {
		c.Token = w.engine.config.NewToken()
	}
	tasks, until, err := w.engine.claim(ctx, c)
	w.engine.destinations.claimed(reserved, tasks)
	w.engine.suspects.claimed(c.Suspects, tasks)
	w.unsure = fsm.UUID{}
	if err != nil {
		w.unsure = c.Token
	}
	got := map[store.TaskKind]int{}
	for i := range tasks {
		got[tasks[i].Kind]++
	}
	w.change(func() {
		w.due = w.due || err != nil || c.Again
		if err == nil && asked[store.TaskEffect] > 0 {
			w.wakeups.end(len(tasks) > 0)
		}
		for kind, n := range asked {
			w.occupy(kind, got[kind]-n)
			if n > 0 && err == nil {
				w.behind[kind] = got[kind] == n
			}
		}
	})
	for i := range tasks {
		w.start(task{Task: tasks[i], until: until})
	}
	return err
}

// takeSlots takes the free slots for a claim. If a kind has none while work may be due, the worker
// is behind with it and claims later.
func (w *worker[T]) takeSlots(most int) map[store.TaskKind]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	asked := map[store.TaskKind]int{}
	for _, kind := range []store.TaskKind{store.TaskEffect, store.TaskDeadline} {
		asked[kind] = max(0, min(most, w.free(kind)))
		w.occupy(kind, asked[kind])
		if asked[kind] == 0 && w.due {
			w.behind[kind] = true
		}
	}
	w.due = false
	w.wakeups.begin()
	return asked
}

// start runs a task for which a slot is taken.
func (w *worker[T]) start(t task) {
	go func() {
		var once sync.Once
		handled := func() {
			once.Do(func() {
				w.change(func() { w.busy[t.Kind]-- })
				if t.Kind == store.TaskEffect && w.engine.destinations.leave(t.Effect.Destination) {
					w.engine.workers.wake()
				}
			})
		}
		defer func() {
			w.change(func() { w.open[t.Kind]-- })
			if t.Suspect() {
				w.engine.suspects.done()
				w.engine.workers.wake() // there may be more
			}
		}()
		defer handled()
		w.engine.do(w.working, t, handled)
	}()
}

// slotWait is how long a worker that is behind waits for more free slots.
const slotWait = 10 * time.Millisecond

// awaitSlots waits up to slotWait, if more work is due than there are slots, until half of the
// slots are free: a large claim costs hardly more than a small one.
func (w *worker[T]) awaitSlots(ctx context.Context) {
	over := time.NewTimer(slotWait)
	defer over.Stop()
	w.until(ctx, func() bool { return !w.short(store.TaskEffect) && !w.short(store.TaskDeadline) }, over.C)
}

// short reports whether more work of a kind is due than there are slots.
func (w *worker[T]) short(kind store.TaskKind) bool {
	return w.behind[kind] && w.free(kind) < w.engine.config.Concurrency/2
}

// until waits for a condition, for the end of ctx, or for over. It reports whether the condition
// holds.
func (w *worker[T]) until(ctx context.Context, condition func() bool, over <-chan time.Time) bool {
	for !w.is(condition) {
		select {
		case <-w.changed:
		case <-over:
			return false
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// wait returns when work may be due and a slot for it is free.
func (w *worker[T]) wait(ctx context.Context) {
	w.until(ctx, func() bool {
		return w.due || w.behind[store.TaskEffect] && w.free(store.TaskEffect) > 0 || w.behind[store.TaskDeadline] && w.free(store.TaskDeadline) > 0
	}, nil)
}

// listen wakes the worker when the store says that there may be work, and each
// PollInterval, until ctx ends.
func (w *worker[T]) listen(ctx context.Context) {
	watch := &watcher[T]{engine: w.engine}
	read := time.Now() // the pauses
	for ctx.Err() == nil {
		watch.look(ctx)
		began := time.Now()
		if err := w.engine.store.Wait(ctx, w.engine.config.PollInterval); err != nil && ctx.Err() == nil {
			w.engine.backOff(ctx, 1, err)
		}
		if time.Since(read) >= w.engine.config.PollInterval {
			w.engine.refreshPauses(ctx)
			read = time.Now()
		}
		if time.Since(began) < w.engine.config.PollInterval {
			w.wakeLater(ctx)
		} else {
			w.wake()
		}
	}
}

// wakeLater wakes the worker after a wake-up of the store, with the delay of wakeups. Wake-ups that arrive while it waits lead to
// the same claim.
func (w *worker[T]) wakeLater(ctx context.Context) {
	var claims int
	var pause time.Duration
	w.is(func() bool {
		claims, pause = w.wakeups.claims, w.wakeups.pause(w.engine.config.Rand())
		return true
	})
	if pause > 0 {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
	w.change(func() { w.due = w.wakeups.accept(claims) || w.due })
}

// finish waits for running tasks. After the timeout it ends the contexts of their handlers and
// waits until their outcomes are stored. Slots reserved by a transaction that has not ended are
// given back when it does.
func (w *worker[T]) finish(timeout time.Duration, abandon func()) {
	w.change(func() { w.stopped = true })
	deadline := time.AfterFunc(timeout, abandon)
	defer deadline.Stop()
	w.until(context.Background(), func() bool { return w.open[store.TaskEffect]-w.reserved+w.open[store.TaskDeadline] == 0 }, nil)
}
