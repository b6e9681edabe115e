package transfers_test

import (
	"database/sql"
	"maps"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/generated/transfer"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/deal/ledger"
)

// TestDelivered: a transfer of each kind that leaves the escrow is paid, booked and reported.
func TestDelivered(t *testing.T) { onBoth(t, delivered[*sql.Tx], delivered[pgx.Tx]) }

func delivered[T any](w *world[T]) {
	for _, kind := range []transfer.Kind{transfer.KindPayout, transfer.KindRefund, transfer.KindReturn} {
		before := w.chain.Balance(w.chain.Faucet())
		id := w.plan(kind, w.owner(), price)
		w.until(transfer.Confirmed, id)
		r := w.record(id)
		if r.Signed != 1 || r.FeeNano.V == 0 || len(r.TxHash.V) != 64 {
			w.Errorf("%s: signed %d times, the fee is %d, the transaction %s", kind, r.Signed, r.FeeNano.V, r.TxHash.V)
		}
		if got := w.chain.Balance(w.chain.Faucet()) - before; got < price*99/100 || got > price {
			w.Errorf("%s: the recipient got %d", kind, got)
		}
		from := ledger.Suspense
		if kind == transfer.KindPayout {
			from = ledger.Owner(ownerID)
		}
		w.balance(r.DealID, from, 0)
		w.balance(r.DealID, ledger.NetworkFees, -price-r.FeeNano.V)
		if got, want := w.hears.of(id), (map[string]int{"report CONFIRMED of " + kind.String(): 1}); !maps.Equal(got, want) {
			w.Errorf("heard %v, want %v", got, want)
		}
	}
	w.check()
}

// balance compares what a deal has on an account.
func (w *world[T]) balance(deal fsm.UUID, of ledger.Account, want int64) {
	w.Helper()
	w.must(w.database.InTx(w.Context(), func(tx T) error {
		all, err := w.books.Balances(w.Context(), tx, deal)
		if all[of] != want {
			w.Errorf("deal %s has %d on %s, want %d", deal, all[of], of, want)
		}
		return err
	}))
}

// TestBounced: money that a recipient sends back is in the wallet, less what the chain took, which is
// booked; another address gets it.
func TestBounced(t *testing.T) { onBoth(t, bounced[*sql.Tx], bounced[pgx.Tx]) }

func bounced[T any](w *world[T]) {
	id := w.plan(transfer.KindRefund, nowhere("missing"), price)
	before := w.chain.Balance(library(w.escrow.Address()))
	w.until(transfer.Bounced, id)
	r := w.record(id)
	lost := before - w.chain.Balance(library(w.escrow.Address()))
	if r.FeeNano.V != int64(lost) || !strings.Contains(r.Problem.V, "ask for another address") {
		w.Errorf("the wallet has lost %d, and the record says %d: %s", lost, r.FeeNano.V, r.Problem.V)
	}
	w.balance(r.DealID, ledger.Suspense, price)
	w.balance(r.DealID, ledger.NetworkFees, -price-int64(lost))
	want := map[string]int{"report BOUNCED of refund": 1, "alert BOUNCED: " + r.Problem.V: 1}
	if got := w.hears.of(id); !maps.Equal(got, want) {
		w.Errorf("heard %v, want %v", got, want)
	}
	w.check()
	_, err := w.first.transfers.Retry(w.Context(), id, admin) // to the same recipient
	w.must(err)
	w.until(transfer.Bounced, id)
	w.check()
	_, err = w.first.transfers.Addressed(w.Context(), id, transfer.Addressed{Recipient: w.owner()}, system)
	w.must(err)
	w.until(transfer.Confirmed, id)
	w.balance(r.DealID, ledger.Suspense, 0)
	w.check()
}

// TestTooSmallABalance: a wallet that has less than the amount signs nothing until it has more. One
// that lacks the fees alone has spent some in vain, which are booked; a retry pays.
func TestTooSmallABalance(t *testing.T) { onBoth(t, tooSmall[*sql.Tx], tooSmall[pgx.Tx]) }

func tooSmall[T any](w *world[T]) {
	const had = 100 * coin
	id := w.plan(transfer.KindReturn, w.owner(), had+1)
	w.post(ledger.Entry{Deal: w.record(id).DealID, Cause: "more", Lines: []ledger.Line{{Debit: ledger.NetworkFees, Credit: ledger.Suspense, Nano: had}}})
	for range 5 {
		w.drain(w.first)
		w.clock.Advance(repeats)
	}
	w.wants(id, transfer.Planned)
	if why := w.lastError(id); !strings.Contains(why, "the balance is too small") || !strings.Contains(why, "send money to the wallet") {
		w.Errorf("the message of sign says %q", why)
	}
	w.give(w.escrow.Address(), 100_000) // enough for the amount
	w.until(transfer.Bounced, id)
	if r := w.record(id); r.FeeNano.V == 0 || !strings.Contains(r.Problem.V, "not enough for the amount and the fees") {
		w.Errorf("the fee is %d: %s", r.FeeNano.V, r.Problem.V)
	}
	w.check()
	w.give(w.escrow.Address(), coin)
	_, err := w.first.transfers.Retry(w.Context(), id, admin)
	w.must(err)
	w.until(transfer.Confirmed, id)
	w.check()
}

// lastError returns why the last attempt of an effect of a record has failed.
func (w *world[T]) lastError(id fsm.UUID) (why string) {
	w.Helper()
	w.must(w.database.InTx(w.Context(), func(tx T) error {
		return w.database.Statements(tx).Each(w.Context(), "SELECT last_error FROM fsm_outbox WHERE record_id = $1 AND last_error IS NOT NULL ORDER BY version", []any{id.String()},
			func(scan func(...any) error) error { return scan(&why) })
	}))
	return why
}

// TestNoAddress: money without an address waits, an operator hears of it, and an address moves it.
func TestNoAddress(t *testing.T) { onBoth(t, noAddress[*sql.Tx], noAddress[pgx.Tx]) }

func noAddress[T any](w *world[T]) {
	id := w.plan(transfer.KindRefund, "", price)
	w.drain(w.first)
	w.wants(id, transfer.Waiting)
	want := map[string]int{"report WAITING of refund": 1, "alert WAITING: ": 1}
	if got := w.hears.of(id); !maps.Equal(got, want) {
		w.Errorf("heard %v, want %v", got, want)
	}
	_, err := w.first.transfers.Addressed(w.Context(), id, transfer.Addressed{Recipient: "EQ of my friend"}, system)
	w.must(err)
	w.drain(w.first) // one attempt: a repeat would read the same
	if r := w.wants(id, transfer.Expired); !strings.Contains(r.Problem.V, "64 hexadecimal digits") || r.Signed != 0 {
		w.Errorf("signed %d times: %s", r.Signed, r.Problem.V)
	}
	_, err = w.first.transfers.Addressed(w.Context(), id, transfer.Addressed{Recipient: w.owner()}, system)
	w.must(err)
	w.until(transfer.Confirmed, id)
	w.check()
}
