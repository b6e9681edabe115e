package oracle

import (
	"testing"

	"github.com/xssnick/tonutils-go/address"

	"github.com/fsmgen/fsmgen/adapters/ton"
	"github.com/fsmgen/fsmgen/adapters/ton/tontest"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/deal/internal/dbtest"
)

// World is a chain with the wallets of deals, and the database that has their books.
type World[T any] struct {
	Chain    *tontest.Chain
	Database dbtest.Database[T]
	Escrow   ton.Address
	// Deposits are the deals' addresses.
	Deposits map[ton.Address]fsm.UUID
}

// Check fails the test for each difference. No message may be on its way. Money that came to the
// escrow wallet from elsewhere than the deals' addresses is what an operator has put there. It may be in no
// books; if it is, its deal is that of zeros.
func (w World[T]) Check(t testing.TB) {
	t.Helper()
	if n := w.Chain.InFlight(); n > 0 {
		t.Fatalf("oracle: %d messages are on their way: settle the chain", n)
	}
	books, err := w.read(t.Context())
	if err != nil {
		t.Fatalf("oracle: %v", err)
	}
	history := w.history(t)
	w.checkBalances(t, books, history)
	w.checkPayments(t, books, history)
	w.checkDeposits(t, books, history)
	checkEscrows(t, books)
}

// checkBalances compares what the wallets have with what the ledger has taken from outside.
func (w World[T]) checkBalances(t testing.TB, books books, history map[ton.Address][]transaction) {
	t.Helper()
	if books.unsound > 0 {
		t.Errorf("oracle: %d lines of the ledger are out of balance", books.unsound)
	}
	chain, put := int64(0), int64(0)
	for wallet := range history {
		chain += int64(w.Chain.Balance(library(wallet)))
	}
	for _, tx := range history[w.Escrow] {
		if _, booked := books.deposits[endowment(tx)]; w.strange(tx) && !booked {
			put += int64(tx.nano) - int64(tx.fees)
		}
	}
	if chain-put != -books.external {
		t.Errorf("oracle: the wallets have %d, of which an operator has put in %d, and the ledger says %d: a difference of %d", chain, put, -books.external, chain-put+books.external)
	}
}

// strange reports whether a transaction of the escrow wallet has credited money from elsewhere.
func (w World[T]) strange(tx transaction) bool {
	_, ours := w.Deposits[tx.from]
	return tx.credited && tx.nano > 0 && !ours
}

// endowment is what books money that an operator has put into the escrow wallet.
func endowment(tx transaction) deposit {
	return deposit{fsm.UUID{}.String(), "deposit:" + tx.hash.String()}
}

// checkPayments compares the messages that have arrived with the transfers that are confirmed.
func (w World[T]) checkPayments(t testing.TB, books books, history map[ton.Address][]transaction) {
	t.Helper()
	arrived, settled := map[string]int{}, map[string]int{}
	for wallet, list := range history {
		for _, tx := range list {
			for _, m := range tx.sent {
				if !w.arrived(t, wallet, m) {
					continue
				}
				arrived[m.comment]++
				r, ok := books.transfers[m.comment]
				switch {
				case !ok:
					t.Errorf("oracle: %d nano to %s of no transfer: %q", m.nano, m.to, m.comment)
				case r.status != "CONFIRMED" || r.recipient != m.to.String() || r.nano != int64(m.nano) || (r.kind == "collection") == (wallet == w.Escrow):
					t.Errorf("oracle: %d nano have arrived at %s from %s, and transfer %s is %+v", m.nano, m.to, wallet, m.comment, r)
				case r.kind == "payout" || r.kind == "refund":
					settled[r.deal]++
				}
			}
		}
	}
	for id, r := range books.transfers {
		if n := arrived[id]; n > 1 || r.status == "CONFIRMED" && n == 0 {
			t.Errorf("oracle: transfer %s is %+v, and has arrived %d times", id, r, n)
		}
	}
	for deal, n := range settled {
		if n > 1 {
			t.Errorf("oracle: deal %s was settled %d times", deal, n)
		}
	}
}

// arrived reports whether a message was credited to its recipient.
func (w World[T]) arrived(t testing.TB, from ton.Address, m message) bool {
	t.Helper()
	for _, tx := range read(t, w.Chain.Transactions(library(m.to))) {
		if tx.from == from && tx.inLT == m.lt {
			return tx.credited
		}
	}
	t.Errorf("oracle: the message %d of %s to %s is nowhere", m.lt, from, m.to)
	return false
}

// checkDeposits compares the payments to the deals' addresses with what is booked, each once.
func (w World[T]) checkDeposits(t testing.TB, books books, history map[ton.Address][]transaction) {
	t.Helper()
	seen := map[string]int{}
	for wallet, deal := range w.Deposits {
		for _, tx := range history[wallet] {
			if !tx.credited || tx.nano == 0 {
				continue
			}
			seen[deal.String()]++
			if booked := books.deposits[deposit{deal.String(), "deposit:" + tx.hash.String()}]; booked != int64(tx.nano) {
				t.Errorf("oracle: deposit %s of deal %s is %d, and %d are booked", tx.hash, deal, tx.nano, booked)
			}
		}
	}
	for _, tx := range history[w.Escrow] {
		if booked, ok := books.deposits[endowment(tx)]; ok && w.strange(tx) {
			seen[fsm.UUID{}.String()]++
			if booked != int64(tx.nano) {
				t.Errorf("oracle: %d were put into the escrow wallet, and %d are booked", tx.nano, booked)
			}
		}
	}
	for d := range books.deposits {
		seen[d.deal]--
	}
	for deal, n := range seen {
		if n != 0 {
			t.Errorf("oracle: deal %s has %d deposits in the chain more than in the ledger", deal, n)
		}
	}
}

// checkEscrows: a deal whose money has left has nothing in escrow.
func checkEscrows(t testing.TB, books books) {
	t.Helper()
	for id, r := range books.transfers {
		if r.status == "CONFIRMED" && (r.kind == "payout" || r.kind == "refund") && books.escrows[r.deal] != 0 {
			t.Errorf("oracle: transfer %s has settled deal %s, which has %d in escrow", id, r.deal, books.escrows[r.deal])
		}
	}
}

// library returns an address as the chain takes it.
func library(a ton.Address) *address.Address {
	return address.NewAddress(0, byte(a.Workchain), a.Hash[:])
}
