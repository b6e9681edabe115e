package deal_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/xssnick/tonutils-go/address"

	"github.com/fsmgen/fsmgen/adapters/ton"
	machine "github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
	"github.com/fsmgen/fsmgen/services/deal"
	"github.com/fsmgen/fsmgen/services/deal/internal/dbtest"
	"github.com/fsmgen/fsmgen/services/deal/ledger"
)

// TestPaidOut takes a deal from its offer to its payout: the post is published and looked at for a day,
// and the owner gets the price less commission and fees, to the nano.
func TestPaidOut(t *testing.T) { onBoth(t, paidOut[*sql.Tx], paidOut[pgx.Tx]) }

func paidOut[T any](w *world[T]) {
	id := w.approved()
	w.did(w.Deals.SetPayoutAddress(w.Context(), id, machine.SetPayoutAddress{PayoutAddress: w.recipient()}, owner))
	w.did(w.Deals.PublishNow(w.Context(), id, owner))
	w.untilState(id, time.Second, machine.DeliveryVerifying)
	began := w.clock.Now()
	w.untilState(id, 10*time.Minute, machine.CompletedReleased)
	if took := w.clock.Now().Sub(began); took < 24*time.Hour {
		w.Errorf("it was paid after %s, want a day of looks", took)
	}
	w.untilMoved(id)
	w.balances(id, map[ledger.Account]int64{ledger.Commission: price / 40})
	w.check()
	want := []string{"DRAFT", "OFFER_PENDING", "ACCEPTED", "AWAITING_PAYMENT", "FUNDED", "CREATIVE_SUBMITTED", "CREATIVE_APPROVED"}
	if got := w.hears.events; len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
		w.Errorf("published %v, want %v first", got, want)
	}
	if !w.hears.heard(8, "CREATIVE_APPROVED") || !w.hears.heard(7, "ACCEPTED") {
		w.Errorf("the parties heard %+v", w.hears.notices)
	}
}

// TestPayoutWaits: without an address the money waits, the operators hear of it, and the address brings
// it on its way.
func TestPayoutWaits(t *testing.T) { onBoth(t, payoutWaits[*sql.Tx], payoutWaits[pgx.Tx]) }

func payoutWaits[T any](w *world[T]) {
	id := w.approved()
	w.did(w.Deals.PublishNow(w.Context(), id, owner))
	w.untilState(id, 10*time.Minute, machine.CompletedReleased)
	w.until(id, time.Minute, "its money waits", func(r *machine.Record) bool { return r.Settlement == machine.SettlementWaiting })
	if !w.hears.heard(0, "WAITING") {
		w.Errorf("the operators heard %+v", w.hears.notices)
	}
	shares, err := terms.Split(price)
	w.must(err)
	w.balances(id, map[ledger.Account]int64{ledger.Owner(8): shares.Payout, ledger.Commission: shares.Commission})
	w.did(w.Deals.SetPayoutAddress(w.Context(), id, machine.SetPayoutAddress{PayoutAddress: w.recipient()}, owner))
	w.untilMoved(id)
	w.balances(id, map[ledger.Account]int64{ledger.Commission: shares.Commission})
	w.check()
}

// TestRefunded: a dispute that the advertiser wins returns the whole price, to the address that the
// advertiser has recorded.
func TestRefunded(t *testing.T) { onBoth(t, refunded[*sql.Tx], refunded[pgx.Tx]) }

func refunded[T any](w *world[T]) {
	w.pay(w.Escrow(), coin) // a refund is the price, and the collection cost something
	id, at := w.awaiting()
	w.pay(at, price)
	w.untilState(id, time.Second, machine.Funded)
	w.did(w.Deals.SetRefundAddress(w.Context(), id, machine.SetRefundAddress{RefundAddress: w.recipient()}, advertiser))
	w.did(w.Deals.SubmitDraft(w.Context(), id, machine.SubmitDraft{Draft: 1, Creative: fsm.JSON(`{}`)}, owner))
	w.did(w.Deals.Dispute(w.Context(), id, machine.Dispute{Complaint: "empty"}, advertiser))
	w.rounds()
	if !w.hears.heard(0, "DISPUTED") {
		w.Errorf("the operators heard %+v", w.hears.notices)
	}
	w.balances(id, map[ledger.Account]int64{ledger.Escrow(id): price})
	w.did(w.Deals.ResolveForAdvertiser(w.Context(), id, operator))
	w.untilMoved(id)
	w.balances(id, nil)
	w.check()
}

// TestStrays: what comes too late, too little or on top goes back where the advertiser says, and dust
// stays in the books.
func TestStrays(t *testing.T) { onBoth(t, strays[*sql.Tx], strays[pgx.Tx]) }

func strays[T any](w *world[T]) {
	w.pay(w.Escrow(), 10*coin) // returns do not wait for collections
	dust := machine.DefaultParams().DustNano
	id, at := w.awaiting()
	w.pay(at, coin)         // too little
	w.pay(at, price+2*coin) // funds, with a surplus
	w.untilState(id, time.Second, machine.Funded)
	w.pay(at, coin)         // once more
	w.pay(at, uint64(dust)) // dust
	w.did(w.Deals.SetRefundAddress(w.Context(), id, machine.SetRefundAddress{RefundAddress: w.recipient()}, advertiser))
	before := w.chain.Balance(w.chain.Faucet())
	w.untilSuspense(id, dust)
	w.balances(id, map[ledger.Account]int64{ledger.Escrow(id): price, ledger.Suspense: dust})
	if back := w.chain.Balance(w.chain.Faucet()) - before; back < 4*coin*99/100 || back > 4*coin {
		w.Errorf("%d came back, want %d", back, 4*coin)
	}
	w.check()
}

// TestCancelledBeforePayment: a deposit after the end goes back.
func TestCancelledBeforePayment(t *testing.T) {
	onBoth(t, cancelledBeforePayment[*sql.Tx], cancelledBeforePayment[pgx.Tx])
}

func cancelledBeforePayment[T any](w *world[T]) {
	w.pay(w.Escrow(), coin)
	id, at := w.awaiting()
	w.did(w.Deals.SetRefundAddress(w.Context(), id, machine.SetRefundAddress{RefundAddress: w.recipient()}, advertiser))
	w.did(w.Deals.Cancel(w.Context(), id, advertiser))
	w.pay(at, price)
	w.rounds()
	w.untilSuspense(id, 0)
	if r := w.record(id); r.State != machine.Cancelled || r.Settlement != machine.SettlementNone {
		w.Errorf("the deal is %+v", r)
	}
	w.balances(id, nil)
	w.check()
}

// TestConfig: a service needs all of its parts.
func TestConfig(t *testing.T) {
	t.Parallel()
	_, err := deal.New(deal.Config[*sql.Tx]{})
	if err == nil || !strings.Contains(err.Error(), "Channel") {
		t.Errorf("without anything: %v", err)
	}
}

// TestRun: the service runs until its context ends.
func TestRun(t *testing.T) {
	t.Parallel()
	db := dbtest.SQLite(t)
	w := newWorld(t, db, deal.SQLite)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- w.Service.Run(ctx) }()
	stop()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestDepositKeyIsUnique: a deposit that a message has confirmed funds the deal once, when the watcher finds
// it too, whatever terms the message had.
func TestDepositKeyIsUnique(t *testing.T) {
	onBoth(t, depositKeyIsUnique[*sql.Tx], depositKeyIsUnique[pgx.Tx])
}

func depositKeyIsUnique[T any](w *world[T]) {
	shares, err := terms.Split(price)
	w.must(err)
	for _, commission := range []int64{shares.Commission, shares.Commission / 2} {
		id, at := w.awaiting()
		w.pay(at, price)
		history := w.chain.Transactions(address.NewAddress(0, 0, at.Hash[:]))
		confirmed := machine.DepositConfirmed{
			TxHash: ton.Hash(history[len(history)-1].Hash).String(), AmountNano: price, Withheld: shares.Commission + shares.Fees, Commission: commission,
		}
		for range 2 {
			w.did(w.Deals.DepositConfirmed(w.Context(), id, confirmed, machine.BySystem()))
		}
		w.rounds()
		if r := w.record(id); r.State != machine.Funded || r.CommissionNano.V != commission {
			w.Errorf("the deal is %+v", r)
		}
		w.balances(id, map[ledger.Account]int64{ledger.Escrow(id): price})
	}
	w.check()
}

// TestPayoutLockAndFence: two processes on one database and one wallet work at a deal at the same time, and
// it is paid out once. Each has locks of its own, so no lock keeps them apart.
func TestPayoutLockAndFence(t *testing.T) {
	onBoth(t, func(w *world[*sql.Tx]) { payoutLockAndFence(w, deal.SQLite) }, func(w *world[pgx.Tx]) { payoutLockAndFence(w, deal.Postgres) })
}

func payoutLockAndFence[T any](w *world[T], of func(store.Store[T]) deal.Database[T]) {
	second := w.another(of(w.database.Again(w.T)))
	id := w.approved()
	w.did(w.Deals.SetPayoutAddress(w.Context(), id, machine.SetPayoutAddress{PayoutAddress: w.recipient()}, owner))
	w.did(w.Deals.PublishNow(w.Context(), id, owner))
	w.untilState(id, 10*time.Minute, machine.DeliveryVerifying)
	w.clock.Advance(10 * time.Minute)
	for range 400 {
		var both sync.WaitGroup
		for _, s := range []*deal.Service[T]{w.Service, second} {
			both.Go(func() {
				if _, err := s.Round(w.Context()); err != nil {
					w.Error(err)
				}
			})
		}
		both.Wait()
		if w.record(id).Settlement == machine.SettlementMoved {
			break
		}
		w.clock.Advance(5 * time.Minute)
		w.chain.Advance(1)
	}
	w.untilMoved(id)
	shares, err := terms.Split(price)
	w.must(err)
	w.balances(id, map[ledger.Account]int64{ledger.Commission: shares.Commission})
	w.check()
}

// TestReconcile: what is under way, what is not booked yet, and what differs are said, and when all is
// done chain and books agree.
func TestReconcile(t *testing.T) {
	onBoth(t, func(w *world[*sql.Tx]) { reconcile(w, ledger.SQLite()) }, func(w *world[pgx.Tx]) { reconcile(w, ledger.Postgres()) })
}

func reconcile[T any](w *world[T], books *ledger.Ledger[T]) {
	reconciled := func() deal.Reconciliation {
		w.Helper()
		r, err := w.Reconcile(w.Context())
		w.must(err)
		return r
	}
	id, at := w.awaiting()
	w.pay(at, price)
	if r := reconciled(); r.Difference != price-int64(w.feesOf(at)) || !slices.Equal(r.Behind, []string{at.String()}) || len(r.UnderWay) > 0 {
		w.Errorf("before the watcher has seen the deposit: %+v", r)
	}
	w.untilState(id, time.Second, machine.Funded)
	w.check()
	if r := reconciled(); r.Difference != 0 || len(r.Behind) > 0 || len(r.UnderWay) > 0 || r.Escrow == 0 || r.Deposits == 0 || r.Books != r.Escrow+r.Deposits {
		w.Errorf("when all is done: %+v", r)
	}
	w.must(w.database.InTx(w.Context(), func(tx T) error {
		return books.Post(w.Context(), tx, ledger.Endowed(fsm.UUID{}, "nothing of the chain", 5), w.clock.Now())
	}))
	if r := reconciled(); r.Difference != -5 {
		w.Errorf("the books have 5 nano too many: %+v", r)
	}
}
