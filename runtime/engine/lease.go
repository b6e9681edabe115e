package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// ErrStateLeft is the cause with which a handler's context ends when the record has left the state
// that asked for the effect. The answer of the handler changes nothing then.
var ErrStateLeft = errors.New("the state that asked for it was left")

// leaseKeeper renews the lease of a message while a worker has it, from the beginning
// of its attempt until its outcome is stored: so neither a long call nor a store that
// is away is taken for a dead worker.
type leaseKeeper[T any] struct {
	engine *Engine[T]
	task   effectTask
	// working ends with ErrLeaseLost as its cause when another worker has the lease,
	// or when it could not be renewed before it ended; with ErrStateLeft when the
	// effect is work of a state that was left.
	working context.Context
	end     context.CancelCauseFunc // of working
	keeping context.Context         // of renewals: they outlive working
	quit    context.CancelFunc      // of keeping

	mu    sync.Mutex // held while renewing
	timer *time.Timer
	over  *time.Timer // of the lease
}

// keepLease renews the lease of d, which lasts until a time, until stop is called.
func (e *Engine[T]) keepLease(ctx context.Context, task effectTask, until time.Time) *leaseKeeper[T] {
	k := &leaseKeeper[T]{engine: e, task: task}
	k.working, k.end = context.WithCancelCause(ctx)
	k.keeping, k.quit = context.WithCancel(context.WithoutCancel(ctx))
	k.mu.Lock()
	defer k.mu.Unlock()
	k.timer = time.AfterFunc(k.interval(), k.tick)
	k.over = time.AfterFunc(until.Sub(e.now()), func() { k.end(store.ErrLeaseLost) })
	return k
}

// interval is the time between two renewals: a seventh of a lease, so that a lease
// outlives an outage of the store that lasts for five sixths of it.
func (k *leaseKeeper[T]) interval() time.Duration {
	return max(k.engine.config.Lease/7, time.Millisecond)
}

func (k *leaseKeeper[T]) tick() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.keeping.Err() != nil {
		return
	}
	until, left, err := k.engine.renew(k.keeping, k.task)
	switch {
	case errors.Is(err, store.ErrLeaseLost):
		k.end(store.ErrLeaseLost)
		return
	case left:
		k.end(ErrStateLeft)
	}
	if err == nil {
		k.over.Reset(until.Sub(k.engine.now()))
	}
	k.timer.Reset(k.interval())
}

// stop ends the renewing, and returns when it has ended.
func (k *leaseKeeper[T]) stop() {
	k.end(context.Canceled)
	k.quit()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.timer.Stop()
	k.over.Stop()
}

// renew extends the lease of d, and reports whether it is work of a state that was
// left. A store that fails is asked again at the next tick; one that takes longer than
// the lease has given nothing.
func (e *Engine[T]) renew(ctx context.Context, task effectTask) (until time.Time, left bool, err error) {
	now := e.now()
	until = now.Add(e.config.Lease)
	s := store.Settlement{Kind: store.TaskEffect, Token: task.token, MessageID: task.msg.MessageID, Renew: until, Now: now}
	err = e.withStoreTimeout(ctx, func(ctx context.Context) error {
		return e.store.InTx(ctx, func(tx T) error {
			err := e.store.Settle(ctx, tx, s)
			if err == nil && task.msg.Work {
				left, err = e.stateLeft(ctx, tx, task)
			}
			return err
		})
	})
	if err == nil && !e.now().Before(until) {
		return until, left, store.ErrLeaseLost
	}
	return until, left, err
}

// stateLeft reports whether the state that asked for d was left.
func (e *Engine[T]) stateLeft(ctx context.Context, tx T, task effectTask) (bool, error) {
	m, err := e.lookup(task.msg.Machine)
	if err != nil {
		return false, err
	}
	s := store.Settlement{Kind: store.TaskEffect, Token: task.token, MessageID: task.msg.MessageID}
	r, err := e.taskRequest(m, task.msg.RecordID, fsm.Event{}, "", &s)
	if err != nil {
		return false, err
	}
	rows, err := e.store.Load(ctx, tx, []store.Query{r.query()})
	if err != nil || len(rows) == 0 {
		return false, err
	}
	return rows[0].Cancelled, nil
}
