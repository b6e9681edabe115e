package deposits_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/xssnick/tonutils-go/tlb"

	"github.com/fsmgen/fsmgen/adapters/ton"
	"github.com/fsmgen/fsmgen/adapters/ton/tontest"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
	"github.com/fsmgen/fsmgen/services/deal/deposits"
	"github.com/fsmgen/fsmgen/services/deal/ledger"
)

// TestFirstDeposit: what is paid to an address without code is aborted in the chain, credited, and
// collected, less the reserve.
func TestFirstDeposit(t *testing.T) { onBoth(t, firstDeposit[*sql.Tx], firstDeposit[pgx.Tx]) }

func firstDeposit[T any](w *world[T]) {
	deal, at := w.deal(1)
	w.pay(tontest.Payment{To: library(at), Nano: 3 * coin, Body: tontest.Comment("for deal 1")})
	w.round(w.watcher(w.credits))
	tx := w.chain.Transactions(library(at))[0]
	if d, ok := tx.Description.(tlb.TransactionDescriptionOrdinary); !ok || !d.Aborted {
		w.Errorf("the chain did not abort it: %+v", tx.Description)
	}
	if got := w.cursor(at); got.LT != tx.LT || got.Hash != ton.Hash(tx.Hash) {
		w.Errorf("the cursor is %+v", got)
	}
	w.wantCount(1, "deal_deposits WHERE remark = 'for deal 1' AND nano = 3000000000 AND hash = '"+ton.Hash(tx.Hash).String()+"' AND deal_id = '"+deal.String()+"'")
	w.wantCount(1, "transfers WHERE kind = 'collection' AND amount_nano = 2950000000 AND cause = '"+ton.Hash(tx.Hash).String()+"'")
	w.collected()
	if got := w.chain.Balance(library(w.escrow.Address())); got < 2*coin {
		w.Errorf("the escrow wallet has %d", got)
	}
	w.pay(tontest.Payment{To: library(at), Nano: coin}) // now it has code, and takes gas
	w.round(w.watcher(w.credits))
	w.collected()
	w.wantCount(2, "transfers")
}

// TestOnce: a deposit is credited once, in however many processes and however often it is found.
func TestOnce(t *testing.T) { onBoth(t, once[*sql.Tx], once[pgx.Tx]) }

func once[T any](w *world[T]) {
	_, at := w.deal(1)
	old := &forgetful{Deposits: w.credits}
	one, two := w.watcher(old), w.watcher(old)
	w.round(one)
	for range 2 {
		w.pay(tontest.Payment{To: library(at), Nano: coin})
		w.round(one)
		w.round(two) // from the cursor that it has read before
	}
	w.wantCount(2, "deal_deposits")
	w.wantCount(2, "transfers")
	if old.offered <= 2 {
		w.Errorf("the deposits were offered %d times", old.offered)
	}
	before := w.cursor(at)
	w.must(w.credits.Credit(w.Context(), at, nil, nil, ton.Cursor{LT: before.LT - 1, Hash: ton.Hash{1}}))
	if got := w.cursor(at); got != before {
		w.Errorf("the cursor went back from %+v to %+v", before, got)
	}
	w.collected()
}

// forgetful opens accounts without their cursors.
type forgetful struct {
	ton.Deposits
	offered int
}

func (f *forgetful) Open(ctx context.Context) ([]ton.Account, error) {
	list, err := f.Deposits.Open(ctx)
	for i := range list {
		list[i].Cursor = ton.Cursor{}
	}
	return list, err
}

func (f *forgetful) Credit(ctx context.Context, of ton.Address, deposits []ton.Deposit, costs []ton.Cost, next ton.Cursor) error {
	f.offered += len(deposits)
	return f.Deposits.Credit(ctx, of, deposits, costs, next)
}

// TestTwoDeals: a transaction that pays two deals is a deposit of each.
func TestTwoDeals(t *testing.T) { onBoth(t, twoDeals[*sql.Tx], twoDeals[pgx.Tx]) }

func twoDeals[T any](w *world[T]) {
	one, first := w.deal(1)
	two, second := w.deal(2)
	w.pay(tontest.Payment{To: library(first), Nano: coin}, tontest.Payment{To: library(second), Nano: 2 * coin})
	w.round(w.watcher(w.credits))
	for deal, want := range map[fsm.UUID]int64{one: coin, two: 2 * coin} {
		w.must(w.database.InTx(w.Context(), func(tx T) error {
			got, err := w.books.Balances(w.Context(), tx, deal)
			if got[ledger.Suspense] != want {
				w.Errorf("deal %s has %v", deal, got)
			}
			return err
		}))
	}
	w.collected()
}

// TestNoDeposits: a payment that bounces, a message from outside and one without money are no deposits.
// The cursor passes them, and what they cost is booked, once.
func TestNoDeposits(t *testing.T) { onBoth(t, noDeposits[*sql.Tx], noDeposits[pgx.Tx]) }

func noDeposits[T any](w *world[T]) {
	_, at := w.deal(1)
	watcher := w.watcher(w.credits)
	w.pay(tontest.Payment{To: library(at), Nano: coin, Bounce: true}) // to an address without code
	w.round(watcher)
	w.wantCount(0, "deal_deposits")
	w.pay(tontest.Payment{To: library(at), Nano: coin})
	w.round(watcher)
	w.collected() // by a message from outside
	w.round(watcher)
	history := w.chain.Transactions(library(at))
	if last := history[len(history)-1]; last.IO.In.MsgType != tlb.MsgTypeExternalIn || w.cursor(at).LT != last.LT {
		w.Errorf("the cursor is %+v, and the last transaction has %s", w.cursor(at), last.IO.In.MsgType)
	}
	w.chain.Sleep(90 * 24 * time.Hour) // the address pays for its storage when a message comes
	w.pay(tontest.Payment{To: library(at)})
	for range 2 {
		w.round(w.watcher(&forgetful{Deposits: w.credits}))
	}
	w.wantCount(1, "deal_deposits")
	w.wantCount(1, "transfers")
	w.wantCount(1, "deal_ledger WHERE cause = 'fee:"+w.cursor(at).Hash.String()+"'")
	w.check()
}

// TestDust is credited, and stays where it is.
func TestDust(t *testing.T) { onBoth(t, dust[*sql.Tx], dust[pgx.Tx]) }

func dust[T any](w *world[T]) {
	_, at := w.deal(1)
	for range 12 {
		dust := tontest.Payment{To: library(at), Nano: reserve + least - 1}
		w.pay(dust, dust, dust, dust)
	}
	w.round(w.watcher(w.credits))
	w.wantCount(48, "deal_deposits")
	w.wantCount(0, "transfers")
	w.check()
	w.pay(tontest.Payment{To: library(at), Nano: reserve + least})
	w.round(w.watcher(w.credits))
	w.wantCount(1, "transfers")
	w.collected()
}

// TestAllOrNothing: an error of the deal undoes the credit, and the deposit is offered again. One of
// several deposits that fails leaves none of them behind.
func TestAllOrNothing(t *testing.T) { onBoth(t, allOrNothing[*sql.Tx], allOrNothing[pgx.Tx]) }

func allOrNothing[T any](w *world[T]) {
	_, at := w.deal(1)
	watcher := w.watcher(w.credits)
	w.pay(tontest.Payment{To: library(at), Nano: coin}, tontest.Payment{To: library(at), Nano: 2 * coin})
	w.fail = errors.New("the deal is away")
	for range 2 {
		if _, err := watcher.Round(w.Context()); !errors.Is(err, w.fail) {
			w.Errorf("got %v", err)
		}
		w.wantCount(0, "deal_deposits")
		w.wantCount(0, "transfers")
		w.wantCount(0, "deal_ledger")
		if got := w.cursor(at); got != (ton.Cursor{}) {
			w.Errorf("the cursor is %+v", got)
		}
	}
	w.fail = nil
	w.round(watcher)
	w.wantCount(2, "deal_deposits")
	w.collected()
}

// TestKilled: a process that ends before or after any transaction of a credit leaves a deposit that the
// next one credits once.
func TestKilled(t *testing.T) { onBoth(t, killed[*sql.Tx], killed[pgx.Tx]) }

func killed[T any](w *world[T]) {
	_, at := w.deal(1)
	n := 0
	for ended := true; ended; n++ {
		w.pay(tontest.Payment{To: library(at), Nano: coin})
		s := &crashingStore[T]{Store: w.database.Store, left: n}
		crashing := w.newEngine(s)
		_, err := w.watcher(w.newCredits(crashing)).Round(w.Context())
		if ended = s.ended; ended != errors.Is(err, errEnded) {
			w.Errorf("ended after %d boundaries is %v: %v", n, ended, err)
		}
		w.round(w.watcher(w.credits))
		w.wantCount(n+1, "deal_deposits")
	}
	if n < 3 {
		w.Errorf("a credit has %d boundaries: the test sees no transaction", n-1)
	}
	w.collected()
	w.wantCount(n, "transfers")
}

var errEnded = errors.New("the process has ended")

// crashingStore is the store of a process that ends before or after a transaction.
type crashingStore[T any] struct {
	store.Store[T]
	left  int
	ended bool
}

func (s *crashingStore[T]) InTx(ctx context.Context, f func(T) error) error {
	if s.ends() {
		return errEnded
	}
	err := s.Store.InTx(ctx, f)
	if s.ends() {
		return errEnded
	}
	return err
}

func (s *crashingStore[T]) ends() bool {
	s.ended = s.ended || s.left == 0
	s.left--
	return s.ended
}

// TestAStrangeAddress: money of no deal is an error.
func TestAStrangeAddress(t *testing.T) { onBoth(t, strange[*sql.Tx], strange[pgx.Tx]) }

func strange[T any](w *world[T]) {
	_, at := w.deal(1)
	at.Hash[0]++
	err := w.credits.Credit(w.Context(), at, []ton.Deposit{{Address: at, Nano: 1, Cursor: ton.Cursor{LT: 1}}}, nil, ton.Cursor{LT: 1})
	if err == nil || !strings.Contains(err.Error(), "no deal has the address") || !strings.Contains(err.Error(), at.String()) {
		w.Errorf("got %v", err)
	}
}

// TestConfig: what is missing or can't be is refused.
func TestConfig(t *testing.T) {
	t.Parallel()
	a, err := deposits.NewAddresses[*sql.Tx](nil, nil, public())
	if err != nil {
		t.Fatal(err)
	}
	whole := deposits.Config[*sql.Tx]{
		Addresses: a, Engine: &engine.Engine[*sql.Tx]{}, Ledger: ledger.SQLite(), Escrow: ton.Address{Workchain: -1},
		Confirm: func(context.Context, *engine.Tx[*sql.Tx], fsm.UUID, ton.Deposit) error { return nil },
	}
	if _, err := deposits.New(whole); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*deposits.Config[*sql.Tx]){
		"Addresses": func(c *deposits.Config[*sql.Tx]) { c.Addresses = nil },
		"Engine":    func(c *deposits.Config[*sql.Tx]) { c.Engine = nil },
		"Ledger":    func(c *deposits.Config[*sql.Tx]) { c.Ledger = nil },
		"Confirm":   func(c *deposits.Config[*sql.Tx]) { c.Confirm = nil },
		"Escrow":    func(c *deposits.Config[*sql.Tx]) { c.Escrow = ton.Address{} },
		"Reserve":   func(c *deposits.Config[*sql.Tx]) { c.Reserve = -1 },
		"Least":     func(c *deposits.Config[*sql.Tx]) { c.Least = -1 },
	} {
		c := whole
		change(&c)
		if _, err := deposits.New(c); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
