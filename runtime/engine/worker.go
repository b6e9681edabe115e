package engine

import (
	"context"
	"time"
)

// worker is one Run: what it has going on. It has Config.Concurrency hands for
// each kind of task. A hand is free again when an effect has happened; until
// that is stored the task is open, and there are at most twice as many of those.
// Only Run's goroutine touches it.
type worker[Tx any] struct {
	engine *Engine[Tx]
	news   chan news // never blocks: it holds all that open tasks have to tell
	busy   map[TaskKind]int
	open   map[TaskKind]int
	behind map[TaskKind]bool // the last claim found as much as there were hands for
}

// news is what a task tells: that its hand is free, and later that it has ended.
type news struct {
	kind  TaskKind
	ended bool
}

func newWorker[Tx any](e *Engine[Tx]) *worker[Tx] {
	const kinds, openAHand, newsATask = 2, 2, 2
	return &worker[Tx]{
		engine: e, news: make(chan news, kinds*openAHand*newsATask*e.config.Concurrency),
		busy: map[TaskKind]int{}, open: map[TaskKind]int{}, behind: map[TaskKind]bool{},
	}
}

// note takes what a task tells.
func (w *worker[Tx]) note(n news) {
	if n.ended {
		w.open[n.kind]--
	} else {
		w.busy[n.kind]--
	}
}

// free is how many tasks of a kind can be begun.
func (w *worker[Tx]) free(kind TaskKind) int {
	hands := w.engine.config.Concurrency
	return min(hands-w.busy[kind], 2*hands-w.open[kind])
}

// round claims as much as there are hands for and sets it going. It returns how
// much that was.
func (w *worker[Tx]) round(ctx, working context.Context) (int, error) {
	c := w.engine.config
	w.collect()
	w.gather(ctx)
	for w.free(TaskEffect) == 0 && w.free(TaskDeadline) == 0 {
		select {
		case <-ctx.Done():
			return 0, nil
		case n := <-w.news:
			w.note(n)
		}
	}
	asked := map[TaskKind]int{TaskEffect: min(c.Batch, w.free(TaskEffect)), TaskDeadline: min(c.Batch, w.free(TaskDeadline))}
	tasks, until, err := w.engine.claim(ctx, asked[TaskEffect], asked[TaskDeadline])
	got := map[TaskKind]int{}
	for i := range tasks {
		got[tasks[i].Kind]++
		w.begin(working, &tasks[i], until)
	}
	for kind, n := range asked {
		if n > 0 {
			w.behind[kind] = got[kind] == n
		}
	}
	return len(tasks), err
}

// begin sets a task going.
func (w *worker[Tx]) begin(ctx context.Context, t *Task, until time.Time) {
	w.busy[t.Kind]++
	w.open[t.Kind]++
	go func() {
		told := false
		handled := func() {
			if !told {
				told = true
				w.news <- news{kind: t.Kind}
			}
		}
		defer func() { w.news <- news{t.Kind, true} }()
		defer handled()
		w.engine.do(ctx, *t, until, handled)
	}()
}

// lull is how long a worker that is behind waits for its hands.
const lull = 10 * time.Millisecond

// gather waits a moment, if there is more to do than hands, for half of them to
// be free: a claim of much costs hardly more than one of little.
func (w *worker[Tx]) gather(ctx context.Context) {
	over := time.NewTimer(lull)
	defer over.Stop()
	for w.short(TaskEffect) || w.short(TaskDeadline) {
		select {
		case n := <-w.news:
			w.note(n)
		case <-over.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// short reports whether there is more of a kind to do than hands.
func (w *worker[Tx]) short(kind TaskKind) bool {
	return w.behind[kind] && w.free(kind) < w.engine.config.Concurrency/2
}

// collect notes what there is to note, without waiting.
func (w *worker[Tx]) collect() {
	for {
		select {
		case n := <-w.news:
			w.note(n)
		default:
			return
		}
	}
}

// wait returns when there may be work: the store says so, something has ended
// that others waited for, or PollInterval is over.
func (w *worker[Tx]) wait(ctx context.Context) {
	waiting, cancel := context.WithCancel(ctx)
	woken := make(chan error, 1)
	go func() {
		defer close(woken)
		woken <- w.engine.store.Wait(waiting, w.engine.config.PollInterval)
	}()
	defer func() {
		cancel()
		for range woken { // until the store waits no more
		}
	}()
	for {
		select {
		case err := <-woken:
			if err != nil && ctx.Err() == nil {
				w.engine.backOff(ctx, 1, err)
			}
			return
		case n := <-w.news:
			w.note(n)
			if n.ended || w.behind[n.kind] {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// finish waits for what is going on; after the timeout it abandons the
// handlers, and waits until that is stored too.
func (w *worker[Tx]) finish(timeout time.Duration, abandon func()) {
	timer := time.AfterFunc(timeout, abandon)
	defer timer.Stop()
	for w.open[TaskEffect]+w.open[TaskDeadline] > 0 {
		w.note(<-w.news)
	}
}
