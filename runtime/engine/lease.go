package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// keepLease renews the lease of a message while a handler works, so that a long
// call is not taken for a dead worker. The context that it returns ends, with
// ErrLeaseLost as its cause, when the lease is gone all the same: the work is
// somebody else's then. stop ends the renewing, and returns when it has ended.
func (e *Engine[Tx]) keepLease(ctx context.Context, messageID string, token fsm.UUID) (working context.Context, stop func()) {
	working, cancel := context.WithCancelCause(ctx)
	// Three renewals to a lease: one may fail, and one may be late.
	interval := max(e.config.Lease/3, time.Millisecond)
	var mu sync.Mutex // held while renewing
	var timer *time.Timer
	stopped := false
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(interval, func() {
		mu.Lock()
		defer mu.Unlock()
		if stopped {
			return
		}
		if err := e.renew(working, messageID, token); errors.Is(err, ErrLeaseLost) {
			cancel(ErrLeaseLost)
			return
		}
		timer.Reset(interval)
	})
	return working, func() {
		cancel(context.Canceled)
		mu.Lock()
		defer mu.Unlock()
		stopped = true
		timer.Stop()
	}
}

// renew extends the lease of a message. A store that fails is asked again at the next
// tick; one that takes longer than the lease has given nothing.
func (e *Engine[Tx]) renew(ctx context.Context, messageID string, token fsm.UUID) error {
	now := e.now()
	s := Settlement{Kind: TaskEffect, Token: token, MessageID: messageID, Renew: now.Add(e.config.Lease), Now: now}
	err := e.briefly(ctx, func(ctx context.Context) error {
		return e.store.InTx(ctx, func(tx Tx) error { return e.store.Settle(ctx, tx, s) })
	})
	if err == nil && !e.now().Before(s.Renew) {
		return ErrLeaseLost
	}
	return err
}
