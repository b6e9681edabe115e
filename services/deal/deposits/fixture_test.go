package deposits_test

import (
	"context"
	"crypto/ed25519"
	"database/sql"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/xssnick/tonutils-go/address"

	"github.com/fsmgen/fsmgen/adapters/ton"
	"github.com/fsmgen/fsmgen/adapters/ton/tontest"
	"github.com/fsmgen/fsmgen/generated/transfer"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/enginetest"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
	"github.com/fsmgen/fsmgen/services/deal/deposits"
	"github.com/fsmgen/fsmgen/services/deal/internal/dbtest"
	"github.com/fsmgen/fsmgen/services/deal/internal/oracle"
	"github.com/fsmgen/fsmgen/services/deal/internal/sqltx"
	"github.com/fsmgen/fsmgen/services/deal/ledger"
	"github.com/fsmgen/fsmgen/services/deal/transfers"
)

const (
	coin    = 1_000_000_000
	reserve = coin / 20
	least   = coin / 10
)

var key = ed25519.NewKeyFromSeed([]byte("0123456789abcdef0123456789abcdef"))

func public() ed25519.PublicKey { return key.Public().(ed25519.PublicKey) }

// world is a chain and a database, where deals confirm deposits by booking them.
type world[T any] struct {
	*testing.T
	chain     *tontest.Chain
	client    *ton.Client
	escrow    *ton.Highload
	database  dbtest.Database[T]
	books     *ledger.Ledger[T]
	clock     *enginetest.Clock
	addresses *deposits.Addresses[T]
	transfers *transfer.Client[T]
	engine    *engine.Engine[T]
	credits   *deposits.Credits[T]
	funds     *deposits.Funds[T]
	deals     map[ton.Address]fsm.UUID

	mu        sync.Mutex
	confirmed map[string]int // by key, also of transactions that were rolled back
	fail      error          // of Confirm, after it has booked
}

// onBoth runs a test on both databases.
func onBoth(t *testing.T, lite func(*world[*sql.Tx]), server func(*world[pgx.Tx])) {
	t.Parallel()
	dbtest.OnBoth(t, func(t *testing.T, db dbtest.Database[*sql.Tx]) { lite(newWorld(t, db, ledger.SQLite())) },
		func(t *testing.T, db dbtest.Database[pgx.Tx]) { server(newWorld(t, db, ledger.Postgres())) })
}

func newWorld[T any](t *testing.T, db dbtest.Database[T], books *ledger.Ledger[T]) *world[T] {
	t.Helper()
	w := &world[T]{
		T: t, chain: tontest.New(t), database: db, books: books, clock: enginetest.NewClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
		deals: map[ton.Address]fsm.UUID{}, confirmed: map[string]int{},
	}
	var err error
	w.client, err = ton.Open(t.Context(), ton.Config{File: w.chain.ConfigFile(w.chain.Serve()), Timeout: 10 * time.Second, Now: w.chain.Now})
	w.must(err)
	t.Cleanup(w.client.Close)
	w.escrow, err = ton.NewHighload(ton.HighloadConfig{Client: w.client, Key: key, Subwallet: 1 << 31})
	w.must(err)
	w.addresses, err = deposits.NewAddresses(db, db.Statements, public())
	w.must(err)
	w.funds, err = deposits.NewFunds(w.addresses, books, w.escrow.Address())
	w.must(err)
	w.engine = w.newEngine(db.Store)
	w.transfers = transfer.In(w.engine)
	w.credits = w.newCredits(w.engine)
	w.must(w.engine.Migrate(t.Context()))
	for range 2 { // the second time the tables are there
		w.must(db.InTx(t.Context(), func(tx T) error {
			return errors.Join(books.Migrate(t.Context(), tx), w.addresses.Migrate(t.Context(), tx), transfers.NewDatabase(db, db.Statements).Migrate(t.Context(), tx))
		}))
	}
	return w
}

func (w *world[T]) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world[T]) newEngine(s store.Store[T]) *engine.Engine[T] {
	w.Helper()
	d := transfers.NewDatabase(s, w.database.Statements)
	handlers, err := transfers.New(transfers.Config[T]{
		Escrow: transfers.Shared(w.escrow, d), Deposits: w.wallet, Database: d, Ledger: w.books, Deals: deaf{}, Operators: deaf{},
	})
	w.must(err)
	config := engine.Config{Clock: w.clock, Rand: func() float64 { return 0.5 }, Logger: slog.New(slog.NewTextHandler(w.Output(), nil))}
	e, err := engine.New(s, config, transfer.Define(handlers, transfer.DefaultParams()))
	w.must(err)
	return e
}

func (w *world[T]) wallet(ctx context.Context, deal fsm.UUID) (transfers.Wallet, error) {
	n, err := w.addresses.Subwallet(ctx, deal)
	if err != nil {
		return nil, err
	}
	return ton.NewWallet(ton.WalletConfig{Client: w.client, Key: key, Subwallet: n})
}

// deaf hears of transfers and does nothing.
type deaf struct{}

func (deaf) Report(context.Context, transfers.Report) error { return nil }
func (deaf) Alert(context.Context, transfers.Alert) error   { return nil }

func (w *world[T]) newCredits(e *engine.Engine[T]) *deposits.Credits[T] {
	w.Helper()
	c, err := deposits.New(deposits.Config[T]{
		Addresses: w.addresses, Engine: e, Ledger: w.books, Confirm: w.confirm, Escrow: w.escrow.Address(), Reserve: reserve, Least: least,
	})
	w.must(err)
	return c
}

// confirm books a deposit.
func (w *world[T]) confirm(ctx context.Context, tx *engine.Tx[T], deal fsm.UUID, d ton.Deposit) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.confirmed[d.Key()]++
	return errors.Join(w.books.Post(ctx, tx.Tx, ledger.Stray(deal, d.Hash.String(), int64(d.Nano)), d.Time), w.fail)
}

// deal returns the n-th deal and its address.
func (w *world[T]) deal(n byte) (fsm.UUID, ton.Address) {
	w.Helper()
	deal := fsm.UUID{6: 0x70, 8: 0x80, 15: n}
	at, err := w.addresses.Of(w.Context(), deal)
	w.must(err)
	w.deals[at] = deal
	return deal, at
}

func library(a ton.Address) *address.Address { return address.NewAddress(0, 0, a.Hash[:]) }

// pay lets the faucet pay addresses in one transaction.
func (w *world[T]) pay(payments ...tontest.Payment) {
	w.Helper()
	w.chain.Pay(payments...)
	w.chain.Settle()
}

func (w *world[T]) watcher(d ton.Deposits) *ton.Watcher {
	w.Helper()
	watcher, err := ton.NewWatcher(ton.WatcherConfig{Client: w.client, Deposits: d, Concurrency: 1})
	w.must(err)
	return watcher
}

func (w *world[T]) round(of *ton.Watcher) {
	w.Helper()
	_, err := of.Round(w.Context())
	w.must(err)
}

// count counts rows.
func (w *world[T]) count(from string) (n int) {
	w.Helper()
	w.must(w.database.InTx(w.Context(), func(tx T) error {
		_, err := sqltx.One(w.Context(), w.database.Statements(tx), "SELECT count(*) FROM "+from, nil, &n)
		return err
	}))
	return n
}

func (w *world[T]) wantCount(want int, from string) {
	w.Helper()
	if got := w.count(from); got != want {
		w.Errorf("%s: %d rows, want %d", from, got, want)
	}
}

// collected lets collections go on until all have ended, and asks the oracle.
func (w *world[T]) collected() {
	w.Helper()
	for range 150 {
		for {
			n, err := w.engine.Step(w.Context())
			w.must(err)
			if n == 0 {
				break
			}
		}
		if w.count("transfers WHERE status NOT IN ('CONFIRMED', 'BOUNCED', 'EXPIRED')") == 0 {
			break
		}
		w.chain.Advance(1)
		w.clock.Advance(72 * time.Second) // the longest pause, with jitter
	}
	w.wantCount(0, "transfers WHERE status <> 'CONFIRMED'")
	w.check()
}

// check asks the oracle.
func (w *world[T]) check() {
	w.Helper()
	w.chain.Settle()
	oracle.World[T]{Chain: w.chain, Database: w.database, Escrow: w.escrow.Address(), Deposits: maps.Clone(w.deals)}.Check(w.T)
}

// cursor returns that of an address.
func (w *world[T]) cursor(of ton.Address) ton.Cursor {
	w.Helper()
	open, err := w.credits.Open(w.Context())
	w.must(err)
	i := slices.IndexFunc(open, func(a ton.Account) bool { return a.Address == of })
	if i < 0 {
		w.Fatalf("%s is not watched", of)
	}
	return open[i].Cursor
}
