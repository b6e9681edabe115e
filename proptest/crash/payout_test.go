package crash_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// Machine deal, one_worker_pays: only one process executes a payout or a refund.
//
// Two engines on one store stand for two processes. While one executes, the
// other one finds nothing to do. When the lease of the first has expired, the
// second asks whether the money was sent and sends it only if it was not. What
// the first says afterwards changes nothing: its token is no longer the one of
// the message.
func TestPayoutLockAndFence(t *testing.T) {
	for _, money := range []struct {
		effect  string
		resolve fsm.Payload
	}{{"execute_payout", deal.ResolveForOwner{}}, {"execute_refund", deal.ResolveForAdvertiser{}}} {
		for _, sent := range []bool{true, false} {
			name := money.effect + "/not sent"
			if sent {
				name = money.effect + "/sent"
			}
			t.Run(name+"/sqlite", func(t *testing.T) { payoutFence(sqliteWorld(t), money.effect, money.resolve, sent) })
			t.Run(name+"/postgres", func(t *testing.T) { payoutFence(postgresWorld(t), money.effect, money.resolve, sent) })
		}
	}
}

// payoutFence lets the first of two processes hang while it moves the money,
// which it has sent by then or not.
func payoutFence[Tx any](w *world[Tx], effect string, resolve fsm.Payload, sent bool) {
	m := deal.Define[Tx](nil, deal.DefaultParams())
	first, second := w.engine(m), w.engine(m)
	id := w.disputed(first)
	w.works(first)

	var transfers, asked atomic.Int32
	entered, leave := make(chan struct{}), make(chan struct{})
	w.done = func(d fsm.Dispatch) bool {
		if d.Effect == effect {
			asked.Add(1)
		}
		return d.Effect != effect || transfers.Load() > 0
	}
	var hung atomic.Bool
	w.handle = func(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
		if d.Effect != effect {
			return nil, nil
		}
		if !hung.CompareAndSwap(false, true) {
			transfers.Add(1)
			return nil, nil
		}
		if sent {
			transfers.Add(1)
		}
		close(entered)
		<-leave
		return nil, errors.New("the node does not answer")
	}
	_, err := first.Fire(w.Context(), "deal", id, resolve, engine.Call{By: deal.ByOperator(1).Caller()})
	must(w.T, err)
	stepped := make(chan error, 1)
	go func() {
		for { // other messages may come first
			n, err := first.Step(w.Context())
			if err != nil || n == 0 || hung.Load() {
				stepped <- err
				return
			}
		}
	}()
	<-entered

	w.works(second)
	// A worker queries first, also before the first attempt.
	if n := w.called(effect); n != 1 || asked.Load() != 1 {
		w.Errorf("while one process executes %s, it was begun %d times and asked for %d times", effect, n, asked.Load())
	}
	w.clock.add(2 * lease)
	w.works(second)
	if want := map[bool]int{true: 1, false: 2}[sent]; w.called(effect) != want || asked.Load() != 2 {
		w.Errorf("after the lease, %s was begun %d times, want %d, and asked for %d times", effect, w.called(effect), want, asked.Load())
	}
	delivered := "fsm_outbox WHERE effect = '" + effect + "' AND state = 'delivered'"
	if n := w.count(delivered); n != 1 {
		w.Fatalf("%d messages are delivered", n)
	}
	attempts := "fsm_outbox WHERE effect = '" + effect + "' AND state = 'delivered' AND attempts = 2"
	if n := w.count(attempts); n != 1 {
		w.Errorf("the second process has no attempt of its own")
	}

	close(leave) // the first one comes back, with a failure
	if err := <-stepped; err != nil && !errors.Is(err, store.ErrLeaseLost) {
		w.Error(err)
	}
	for range 3 {
		w.clock.add(2 * lease)
		w.works(first)
		w.works(second)
	}
	if n := w.count(delivered); n != 1 || w.count(attempts) != 1 {
		w.Errorf("what the first process said later changed the message")
	}
	if n := transfers.Load(); n != 1 {
		w.Errorf("the money was sent %d times", n)
	}
}

// disputed makes a deal whose money waits for an operator.
func (w *world[Tx]) disputed(e *engine.Engine[Tx]) string {
	w.Helper()
	id := w.awaitingPayment(e)
	for _, f := range []engine.Firing{
		{Event: deal.DepositConfirmed{TxHash: "t-" + id, AmountNano: 100}, Call: engine.Call{By: system}},
		{Event: deal.SubmitDraft{Creative: `{}`}, Call: engine.Call{By: owner}},
		{Event: deal.Dispute{Complaint: "late"}, Call: engine.Call{By: advertiser}},
	} {
		_, err := e.Fire(w.Context(), "deal", id, f.Event, f.Call)
		must(w.T, err)
	}
	w.in(e, "deal", id, "DISPUTED")
	return id
}
