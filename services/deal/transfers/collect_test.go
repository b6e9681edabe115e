package transfers_test

import (
	"context"
	"crypto/ed25519"
	"database/sql"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/adapters/ton"
	"github.com/fsmgen/fsmgen/generated/transfer"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/deal/ledger"
	"github.com/fsmgen/fsmgen/services/deal/transfers"
)

// deposited pays a deal's address, and books that.
func (w *world[T]) deposited(deal fsm.UUID, nano uint64) (tx string) {
	w.Helper()
	at, err := ton.WalletAddress(key.Public().(ed25519.PublicKey), binary.BigEndian.Uint32(deal[2:]))
	w.must(err)
	w.deposits[at] = deal
	w.give(at, nano)
	history := w.chain.Transactions(library(at))
	last := history[len(history)-1]
	tx = ton.Hash(last.Hash).String()
	w.post(ledger.Stray(deal, tx, int64(nano)))
	if fees := last.TotalFees.Coins.Nano().Int64(); fees > 0 {
		w.post(ledger.Failed(deal, tx, fees))
	}
	return tx
}

// collect plans the collection of a deposit.
func (w *world[T]) collect(deal fsm.UUID, tx string, nano int64) fsm.UUID {
	w.Helper()
	return w.planned(transfer.Plan{DealID: deal, Kind: transfer.KindCollection, Cause: tx, AmountNano: nano, Recipient: fsm.Some(w.escrow.Address().String())})
}

// TestCollected: deposits are brought to the escrow wallet, with code and without. The money stays in
// the books, and the fees of both wallets are booked. Collections of one address, which has one seqno at a
// time, wait for each other.
func TestCollected(t *testing.T) { onBoth(t, collected[*sql.Tx], collected[pgx.Tx]) }

func collected[T any](w *world[T]) {
	const reserve = coin / 20
	for range 2 { // the first time, the escrow wallet has no code
		deal := w.id()
		var ids []fsm.UUID
		for i := range int64(5) {
			nano := (i + 1) * coin
			ids = append(ids, w.collect(deal, w.deposited(deal, uint64(nano)), nano-reserve))
		}
		w.until(transfer.Confirmed, ids...)
		fees := int64(0)
		for _, id := range ids {
			r := w.record(id)
			if r.Signed != 1 {
				w.Errorf("transfer %s was signed %d times", id, r.Signed)
			}
			fees += r.FeeNano.V
		}
		w.balance(deal, ledger.Suspense, 15*coin)
		if in := w.chain.Balance(library(w.address(deal))); in > 5*reserve {
			w.Errorf("%d are left at the address of the deal, after fees of %d", in, fees)
		}
		w.check()
		w.until(transfer.Confirmed, w.plan(transfer.KindPayout, w.owner(), price)) // gives the wallet code
		w.check()
	}
}

func (w *world[T]) address(deal fsm.UUID) ton.Address {
	w.Helper()
	for at, of := range w.deposits {
		if of == deal {
			return at
		}
	}
	w.Fatalf("deal %s has no address", deal)
	return ton.Address{}
}

// TestACollectionOfTooMuch waits until the address has the money.
func TestACollectionOfTooMuch(t *testing.T) { onBoth(t, tooMuch[*sql.Tx], tooMuch[pgx.Tx]) }

func tooMuch[T any](w *world[T]) {
	deal := w.id()
	id := w.collect(deal, w.deposited(deal, coin), 2*coin)
	w.drain(w.first)
	w.wants(id, transfer.Planned)
	if why := w.lastError(id); !strings.Contains(why, "the balance is too small") {
		w.Errorf("the message of sign says %q", why)
	}
	w.deposited(deal, 2*coin)
	w.until(transfer.Confirmed, id)
	w.check()
}

// TestConfig: handlers need all of their parts.
func TestConfig(t *testing.T) {
	t.Parallel()
	whole := transfers.Config[*sql.Tx]{
		Escrow: crashingWallet{}, Deposits: func(context.Context, fsm.UUID) (transfers.Wallet, error) { return nil, errors.New("none") },
		Database: &transfers.Database[*sql.Tx]{}, Ledger: ledger.SQLite(), Deals: &hears{}, Operators: &hears{},
	}
	if _, err := transfers.New(whole); err != nil {
		t.Error(err)
	}
	for name, leave := range map[string]func(*transfers.Config[*sql.Tx]){
		"Escrow":    func(c *transfers.Config[*sql.Tx]) { c.Escrow = nil },
		"Deposits":  func(c *transfers.Config[*sql.Tx]) { c.Deposits = nil },
		"Database":  func(c *transfers.Config[*sql.Tx]) { c.Database = nil },
		"Ledger":    func(c *transfers.Config[*sql.Tx]) { c.Ledger = nil },
		"Deals":     func(c *transfers.Config[*sql.Tx]) { c.Deals = nil },
		"Operators": func(c *transfers.Config[*sql.Tx]) { c.Operators = nil },
	} {
		c := whole
		leave(&c)
		if _, err := transfers.New(c); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}
