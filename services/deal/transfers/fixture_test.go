package transfers_test

import (
	"context"
	"crypto/ed25519"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
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
	"github.com/fsmgen/fsmgen/services/deal/internal/dbtest"
	"github.com/fsmgen/fsmgen/services/deal/internal/oracle"
	"github.com/fsmgen/fsmgen/services/deal/ledger"
	"github.com/fsmgen/fsmgen/services/deal/transfers"
)

const (
	coin     = 1_000_000_000
	price    = 5 * coin
	ownerID  = 42
	validFor = 10 * time.Minute
)

var (
	key    = ed25519.NewKeyFromSeed([]byte("0123456789abcdef0123456789abcdef"))
	system = transfer.Actor{Role: transfer.RoleSystem}
	admin  = transfer.Actor{Role: transfer.RoleOperator, ID: fsm.Some("7")}
)

// world is a chain with an escrow wallet that has 100 TON, and a database.
type world[T any] struct {
	*testing.T
	chain    *tontest.Chain
	server   *tontest.Server
	client   *ton.Client
	escrow   *ton.Highload
	database dbtest.Database[T]
	books    *ledger.Ledger[T]
	clock    *enginetest.Clock
	deposits map[ton.Address]fsm.UUID
	hears    *hears
	first    *process[T]
	ids      uint64
	pass     func() // what the chain does between two attempts
	rounds   int    // how many attempts a test waits for
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
		deposits: map[ton.Address]fsm.UUID{}, hears: &hears{reports: map[string]transfers.Report{}, alerts: map[string]transfers.Alert{}},
	}
	w.pass, w.rounds = func() { w.chain.Advance(1) }, 150 // the machine gives up after 100
	w.server = w.chain.Serve()
	w.client = w.open(10 * time.Second)
	w.escrow = w.highload(w.client, 9)
	w.give(w.escrow.Address(), 100*coin)
	w.first = w.process(db.Store, w.shared)
	w.must(w.first.Migrate(t.Context()))
	w.must(db.InTx(t.Context(), func(tx T) error {
		return errors.Join(books.Migrate(t.Context(), tx), transfers.NewDatabase(db, db.Statements).Migrate(t.Context(), tx))
	}))
	return w
}

func (w *world[T]) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// open returns a client. A send that is cut is waited for until the timeout.
func (w *world[T]) open(timeout time.Duration) *ton.Client {
	w.Helper()
	client, err := ton.Open(w.Context(), ton.Config{File: w.chain.ConfigFile(w.server), Timeout: timeout, Reconnect: time.Millisecond, Now: w.chain.Now})
	w.must(err)
	w.Cleanup(client.Close)
	return client
}

func (w *world[T]) highload(client *ton.Client, subwallet uint32) *ton.Highload {
	w.Helper()
	h, err := ton.NewHighload(ton.HighloadConfig{Client: client, Key: key, Subwallet: subwallet, ValidFor: validFor})
	w.must(err)
	return h
}

func library(a ton.Address) *address.Address { return address.NewAddress(0, 0, a.Hash[:]) }

func (w *world[T]) give(to ton.Address, nano uint64) {
	w.Helper()
	w.chain.Give(library(to), nano)
	w.chain.Settle()
}

// shared is the escrow wallet as a process has it.
func (w *world[T]) shared(d *transfers.Database[T]) transfers.Wallet {
	return transfers.Shared(w.escrow, d)
}

// owner is the address of a contract that takes money.
func (w *world[T]) owner() string {
	return ton.Address{Hash: [32]byte(w.chain.Faucet().Data())}.String()
}

// nowhere is the address of no contract: money that may bounce does.
func nowhere(name string) string {
	var a ton.Address
	copy(a.Hash[:], name)
	return a.String()
}

// process is an engine with the handlers, as one daemon has it.
type process[T any] struct {
	*engine.Engine[T]
	transfers *transfer.Client[T]
}

// process returns one more process on a store. escrow makes the escrow wallet of the process.
func (w *world[T]) process(s store.Store[T], escrow func(*transfers.Database[T]) transfers.Wallet) *process[T] {
	w.Helper()
	d := transfers.NewDatabase(s, w.database.Statements)
	handlers, err := transfers.New(transfers.Config[T]{
		Escrow: escrow(d), Deposits: w.depositWallet, Database: d, Ledger: w.books, Deals: w.hears, Operators: w.hears,
	})
	w.must(err)
	config := engine.Config{Clock: w.clock, Rand: func() float64 { return 0.5 }, Logger: slog.New(slog.NewTextHandler(w.Output(), nil))}
	e, err := engine.New(s, config, transfer.Define(handlers, transfer.DefaultParams()))
	w.must(err)
	return &process[T]{e, transfer.In(e)}
}

// id returns a new id.
func (w *world[T]) id() fsm.UUID {
	w.ids++
	id := fsm.UUID{6: 0x70, 8: 0x80}
	binary.BigEndian.PutUint64(id[:], w.ids<<16) // in the part of a comment that a bounced message quotes
	id[6], id[8] = 0x70, 0x80
	return id
}

// funded books a deal whose escrow goes to the owner, or back to the advertiser.
func (w *world[T]) funded(paidTo transfer.Kind) (deal fsm.UUID) {
	w.Helper()
	deal = w.id()
	at := ledger.Owner(ownerID)
	if paidTo != transfer.KindPayout {
		at = ledger.Suspense
	}
	// The money is in the escrow wallet: the deposit of the fixture is what an operator has put there.
	w.post(ledger.Entry{Deal: deal, Cause: "funds", Lines: []ledger.Line{{Debit: ledger.NetworkFees, Credit: at, Nano: price}}})
	return deal
}

func (w *world[T]) post(e ledger.Entry) {
	w.Helper()
	w.must(w.database.InTx(w.Context(), func(tx T) error { return w.books.Post(w.Context(), tx, e, w.clock.Now()) }))
}

// plan makes a transfer of a new deal.
func (w *world[T]) plan(kind transfer.Kind, recipient string, nano int64) (id fsm.UUID) {
	w.Helper()
	p := transfer.Plan{DealID: w.funded(kind), Kind: kind, Cause: kind.String(), AmountNano: nano}
	if kind == transfer.KindPayout {
		p.OwnerID = fsm.Some[int64](ownerID)
	}
	if kind == transfer.KindPayout || kind == transfer.KindRefund {
		p.Settles = fsm.Some(p.DealID)
	}
	if recipient != "" {
		p.Recipient = fsm.Some(recipient)
	}
	return w.planned(p)
}

func (w *world[T]) planned(p transfer.Plan) (id fsm.UUID) {
	w.Helper()
	id = w.id()
	_, err := w.first.transfers.Plan(w.Context(), id, p, system)
	w.must(err)
	return id
}

// record returns a transfer.
func (w *world[T]) record(id fsm.UUID) *transfer.Record {
	w.Helper()
	s, err := w.first.transfers.Get(w.Context(), id)
	w.must(err)
	return s.Record
}

func (w *world[T]) wants(id fsm.UUID, state transfer.State) *transfer.Record {
	w.Helper()
	r := w.record(id)
	if r.State != state {
		w.Fatalf("transfer %s is %s (%s), want %s", id, r.State, r.Problem.V, state)
	}
	return r
}

// drain does what is due.
func (w *world[T]) drain(of *process[T]) {
	w.Helper()
	for range 100 {
		n, err := of.Step(w.Context())
		w.must(err)
		if n == 0 {
			return
		}
	}
	w.Fatal("there is no end of work that is due")
}

// repeats is how long the engine waits between two attempts at most, with jitter.
const repeats = 72 * time.Second

// until lets processes and chain go on until transfers are in a state.
func (w *world[T]) until(state transfer.State, ids ...fsm.UUID) {
	w.Helper()
	for range w.rounds {
		w.drain(w.first)
		if w.all(state, ids) {
			return
		}
		w.pass()
		w.clock.Advance(repeats)
	}
	for _, id := range ids {
		w.wants(id, state)
	}
}

func (w *world[T]) all(state transfer.State, ids []fsm.UUID) bool {
	w.Helper()
	for _, id := range ids {
		if w.record(id).State != state {
			return false
		}
	}
	return true
}

// check asks the oracle.
func (w *world[T]) check() {
	w.Helper()
	w.chain.Settle()
	oracle.World[T]{Chain: w.chain, Database: w.database, Escrow: w.escrow.Address(), Deposits: w.deposits}.Check(w.T)
}

// depositWallet returns the wallet of a deal, whose subwallet is the first half of its id.
func (w *world[T]) depositWallet(_ context.Context, deal fsm.UUID) (transfers.Wallet, error) {
	return ton.NewWallet(ton.WalletConfig{Client: w.client, Key: key, Subwallet: binary.BigEndian.Uint32(deal[2:])})
}

// hears keeps what deals and operators hear.
type hears struct {
	mu      sync.Mutex
	reports map[string]transfers.Report
	alerts  map[string]transfers.Alert
}

func (h *hears) Report(_ context.Context, r transfers.Report) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reports[r.ID] = r
	return nil
}

func (h *hears) Alert(_ context.Context, a transfers.Alert) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.alerts[a.ID] = a
	return nil
}

// of returns what was heard of a transfer, a line each.
func (h *hears) of(id fsm.UUID) map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	heard := map[string]int{}
	for _, r := range h.reports {
		if r.Transfer == id {
			heard[fmt.Sprintf("report %s of %s", r.Status, r.Kind)]++
		}
	}
	for _, a := range h.alerts {
		if a.Transfer == id {
			heard[fmt.Sprintf("alert %s: %s", a.Status, a.Problem)]++
		}
	}
	return heard
}

// sharing returns what makes a process use another escrow wallet.
func sharing[T any](h *ton.Highload) func(*transfers.Database[T]) transfers.Wallet {
	return func(d *transfers.Database[T]) transfers.Wallet { return transfers.Shared(h, d) }
}
