package engine

import (
	"context"
	"errors"
	"time"
)

// keepLease renews the lease of d while a handler works, so that a long call is
// not taken for a dead worker. The context that it returns ends, with
// ErrLeaseLost as its cause, when the lease is gone all the same: the work is
// somebody else's then. stop ends the renewing, and returns when it has ended.
func (e *Engine[Tx]) keepLease(ctx context.Context, d delivery) (working context.Context, stop func()) {
	working, cancel := context.WithCancelCause(ctx)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		// Three renewals to a lease: one may fail, and one may be late.
		tick := time.NewTicker(max(e.config.Lease/3, time.Millisecond))
		defer tick.Stop()
		for {
			select {
			case <-working.Done():
				return
			case <-tick.C:
			}
			if err := e.renew(working, d); errors.Is(err, ErrLeaseLost) {
				cancel(ErrLeaseLost)
				return
			}
		}
	}()
	return working, func() {
		cancel(context.Canceled)
		<-stopped
	}
}

// renew extends the lease of d. A store that fails is asked again at the next
// tick.
func (e *Engine[Tx]) renew(ctx context.Context, d delivery) error {
	s := Settlement{Kind: TaskEffect, Token: d.token, MessageID: d.row.MessageID, Renew: e.now().Add(e.config.Lease)}
	return e.store.InTx(ctx, func(tx Tx) error { return e.store.Settle(ctx, tx, s) })
}
