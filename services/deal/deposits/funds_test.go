package deposits_test

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/adapters/ton"
	"github.com/fsmgen/fsmgen/adapters/ton/tontest"
	"github.com/fsmgen/fsmgen/services/deal/deposits"
	"github.com/fsmgen/fsmgen/services/deal/ledger"
)

// TestFunds: with what operators put into the escrow wallet, the books have all that the wallets have.
// Each payment is booked once, and what deals collect is none.
func TestFunds(t *testing.T) { onBoth(t, funds[*sql.Tx], funds[pgx.Tx]) }

func funds[T any](w *world[T]) {
	_, at := w.deal(1)
	escrow := w.escrow.Address()
	w.pay(tontest.Payment{To: library(escrow), Nano: 2 * coin})
	w.pay(tontest.Payment{To: library(at), Nano: coin})
	w.round(w.watcher(w.credits))
	w.collected()
	w.chain.Sleep(90 * 24 * time.Hour) // the wallet pays for its storage when a message comes
	w.pay(tontest.Payment{To: library(escrow), Bounce: true})
	w.chain.Sleep(90 * 24 * time.Hour)
	w.pay(tontest.Payment{To: library(escrow), Nano: 3 * coin})
	w.round(w.watcher(w.funds))
	w.round(w.watcher(&forgetful{Deposits: w.funds}))
	w.wantCount(2, "deal_ledger WHERE debit = 'EXTERNAL_TON' AND credit = 'NETWORK_FEES'")
	w.balanced()
	w.check()
	open, err := w.funds.Open(w.Context())
	w.must(err)
	w.must(w.funds.Credit(w.Context(), escrow, nil, nil, ton.Cursor{LT: 1}))
	again, err := w.funds.Open(w.Context())
	w.must(err)
	if len(again) != 1 || again[0] != open[0] || again[0].Cursor.LT <= 1 {
		w.Errorf("the cursor went from %+v to %+v", open, again)
	}
	if err := w.funds.Credit(w.Context(), at, nil, nil, ton.Cursor{LT: 1}); err == nil || !strings.Contains(err.Error(), "not the escrow wallet") {
		w.Errorf("another wallet: %v", err)
	}
}

// balanced compares all that the wallets have with the ledger, without the oracle's allowance for operators.
func (w *world[T]) balanced() {
	w.Helper()
	have := int64(w.chain.Balance(library(w.escrow.Address())))
	for at := range w.deals {
		have += int64(w.chain.Balance(library(at)))
	}
	w.must(w.database.InTx(w.Context(), func(tx T) error {
		totals, err := w.books.Totals(w.Context(), tx)
		if totals[ledger.ExternalTON] != -have {
			w.Errorf("the wallets have %d, and the ledger says %v", have, totals)
		}
		return err
	}))
}

func TestFundsOfNothing(t *testing.T) {
	t.Parallel()
	if _, err := deposits.NewFunds[*sql.Tx](nil, nil, ton.Address{}); err == nil {
		t.Error("funds without anything are taken")
	}
}
