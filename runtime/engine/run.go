package engine

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// Run carries out effects and fires deadlines until ctx ends. It takes over the work of dead
// workers. If the store fails, Run logs that and tries again, with growing waits.
//
// When ctx ends, Run claims nothing more and waits up to StopTimeout for handlers. Then it ends
// their contexts, and their messages return to the outbox. It returns nil.
func (e *Engine[T]) Run(ctx context.Context) error {
	if err := checkNested(ctx); err != nil {
		return err
	}
	working, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	if !e.awaitPauses(ctx) {
		return nil
	}
	w := newWorker(e, working)
	e.workers.add(w)
	defer e.workers.remove(w)
	var listening sync.WaitGroup
	listening.Go(func() { w.listen(ctx) })
	for failures := 0; ctx.Err() == nil; {
		switch err := w.round(ctx); {
		case err == nil || ctx.Err() != nil:
			failures = 0
			w.wait(ctx)
		default:
			failures++
			e.backOff(ctx, failures, err)
		}
	}
	w.finish(e.config.StopTimeout, abandon)
	listening.Wait()
	return nil
}

// Step does one round of Run in the calling goroutine: it claims due tasks, carries them out in
// order, and returns how many there were. It is for tests that set the clock.
func (e *Engine[T]) Step(ctx context.Context) (n int, err error) {
	if err := checkNested(ctx); err != nil {
		return 0, err
	}
	err = e.readPauses(ctx)
	e.warnPauses(ctx, err)
	if known, _ := e.pauses.state(); !known {
		return 0, err
	}
	tasks, until, err := e.claim(ctx, store.Claim{
		Token: e.config.NewToken(), Destinations: e.destinations.allowed(e.pauses.left().destinations, e.config.Batch), Effects: e.config.Batch, Suspects: 1, Deadlines: e.config.Batch,
	})
	if err != nil {
		return 0, err
	}
	e.destinations.spent(tasks)
	for _, t := range tasks {
		e.do(ctx, task{Task: t, until: until}, func() {})
	}
	return len(tasks), nil
}

// claim leases due work and returns the end of the leases. If ctx ends, a running claim goes on
// for StopTimeout, since the store may have granted it.
func (e *Engine[T]) claim(ctx context.Context, c store.Claim) (tasks []store.Task, until time.Time, err error) {
	claiming, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.config.StoreTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(e.config.StopTimeout, cancel) })()
	if err := e.synchronise(claiming); err != nil {
		return nil, time.Time{}, err
	}
	c.Worker, c.Events, c.Now = e.config.Worker, e.pauses.left().events, e.now()
	c.Until = c.Now.Add(e.config.Lease)
	tasks, err = e.store.Claim(claiming, c)
	return tasks, c.Until, err
}

// task is a claimed message or deadline in a worker.
type task struct {
	store.Task
	until time.Time  // the end of its lease
	known *store.Row // the record, as the step left it that asked for this effect; nil: not known
}

// do carries out a task. It reports an error, and the worker goes on with other tasks. It calls
// handled when only the outcome is left to be stored.
func (e *Engine[T]) do(ctx context.Context, t task, handled func()) {
	machine, record, what, correlation := t.Effect.Machine, t.Effect.RecordID, t.Effect.Effect, t.Effect.Correlation
	if t.Kind == store.TaskDeadline {
		machine, record, what, correlation = t.Deadline.Machine, t.Deadline.RecordID, t.Deadline.Event.Name, t.Deadline.Correlation
	}
	ctx, end := e.config.Trace(ctx, operationOf(t.Task))
	err := e.survive(ctx, t, handled)
	end(err)
	if err == nil {
		return
	}
	level, message := slog.LevelError, "task failed"
	if errors.Is(err, store.ErrLeaseLost) {
		level, message = slog.LevelWarn, "another worker has taken over"
	}
	e.config.Logger.Log(ctx, level, message, "kind", string(t.Kind), "machine", machine, "record", record,
		"task", what, "error", err, "correlation", correlation)
}

// survive carries out a task and returns a panic of a machine, a store or a metrics hook as an
// error. The lease ends by itself then.
func (e *Engine[T]) survive(ctx context.Context, t task, handled func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	if t.Kind == store.TaskDeadline {
		return e.expire(ctx, t.Task)
	}
	return e.deliver(ctx, t, handled)
}

// longestBackOff is the longest wait after a failure of the store, since deadlines pass meanwhile.
const longestBackOff = 5 * time.Second

// backOff logs that the store failed and waits: PollInterval, and twice as long each time, up to
// longestBackOff.
func (e *Engine[T]) backOff(ctx context.Context, failures int, err error) {
	const factor, most = 2, 20
	longest := max(longestBackOff, e.config.PollInterval)
	policy := fsm.RetryPolicy{First: e.config.PollInterval, Factor: factor, Max: longest, Jitter: 0.2, Attempts: most}
	delay, _ := policy.Backoff(min(failures, most), e.config.Rand())
	e.config.Logger.ErrorContext(ctx, "the store failed", "error", err, "failures", failures, "again_in", delay)
	select {
	case <-ctx.Done():
	case <-time.After(delay):
	}
}
