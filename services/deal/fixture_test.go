package deal_test

import (
	"context"
	"crypto/ed25519"
	"database/sql"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/xssnick/tonutils-go/address"

	"github.com/fsmgen/fsmgen/adapters/ton"
	"github.com/fsmgen/fsmgen/adapters/ton/tontest"
	machine "github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/generated/transfer"
	"github.com/fsmgen/fsmgen/runtime/client"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/enginetest"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
	"github.com/fsmgen/fsmgen/services/deal"
	"github.com/fsmgen/fsmgen/services/deal/internal/dbtest"
	"github.com/fsmgen/fsmgen/services/deal/internal/oracle"
	"github.com/fsmgen/fsmgen/services/deal/ledger"
	"github.com/fsmgen/fsmgen/services/deal/posts/directory"
)

const (
	coin  = 1_000_000_000
	price = 5 * coin
)

var (
	key        = ed25519.NewKeyFromSeed([]byte("0123456789abcdef0123456789abcdef"))
	advertiser = machine.ByAdvertiser(7)
	owner      = machine.ByOwner(8)
	operator   = machine.ByOperator(1)
	terms      = ledger.Terms{Commission: 250, Fees: coin / 10}
)

// world is a chain, a channel and a database with a service.
type world[T any] struct {
	*testing.T
	*deal.Service[T]
	chain    *tontest.Chain
	client   *ton.Client
	channel  *directory.Channel
	database dbtest.Database[T]
	clock    *enginetest.Clock
	hears    *hears
	deposits map[ton.Address]fsm.UUID
	last     byte
}

// hears remembers what was published and notified.
type hears struct {
	mu      sync.Mutex
	events  []string
	notices []deal.Notice
}

func (h *hears) Publish(_ context.Context, d fsm.Dispatch) error {
	var e machine.DealEventsEffect
	if err := json.Unmarshal(d.Payload, &e); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, e.ToStatus)
	return nil
}

func (h *hears) Notify(_ context.Context, n deal.Notice) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notices = append(h.notices, n)
	return nil
}

// heard reports whether a user, or the operators, heard of a status.
func (h *hears) heard(user int64, status string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.notices, func(n deal.Notice) bool { return n.User == user && n.Status == status })
}

// onBoth runs a test on both databases.
func onBoth(t *testing.T, lite func(*world[*sql.Tx]), server func(*world[pgx.Tx])) {
	t.Parallel()
	dbtest.OnBoth(t, func(t *testing.T, db dbtest.Database[*sql.Tx]) { lite(newWorld(t, db, deal.SQLite)) },
		func(t *testing.T, db dbtest.Database[pgx.Tx]) { server(newWorld(t, db, deal.Postgres)) })
}

func newWorld[T any](t *testing.T, db dbtest.Database[T], of func(store.Store[T]) deal.Database[T]) *world[T] {
	t.Helper()
	w := &world[T]{
		T: t, chain: tontest.New(t), database: db, clock: enginetest.NewClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), hears: &hears{},
		deposits: map[ton.Address]fsm.UUID{},
	}
	var err error
	w.client, err = ton.Open(t.Context(), ton.Config{File: w.chain.ConfigFile(w.chain.Serve()), Timeout: 10 * time.Second, Now: w.chain.Now})
	w.must(err)
	t.Cleanup(w.client.Close)
	w.channel, err = directory.Open(filepath.Join(t.TempDir(), "posts"), directory.Config{})
	w.must(err)
	t.Cleanup(func() { w.must(w.channel.Close()) })
	w.Service = w.another(of(db.Store))
	for range 2 { // the second time the tables are there
		w.must(w.Migrate(t.Context()))
	}
	return w
}

// another returns a service, as one more process has it.
func (w *world[T]) another(of deal.Database[T]) *deal.Service[T] {
	w.Helper()
	s, err := deal.New(deal.Config[T]{
		Database: of, Chain: w.client, Key: key, Escrow: 1 << 31, Terms: terms, Channel: w.channel, Publisher: w.hears, Notifier: w.hears,
		Engine: engine.Config{Clock: w.clock, Rand: func() float64 { return 0.5 }, Logger: slog.New(slog.NewTextHandler(w.Output(), nil))},
	})
	w.must(err)
	return s
}

func (w *world[T]) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// did fails unless an event was accepted.
func (w *world[T]) did(_ client.Outcome[*machine.Record], err error) {
	w.Helper()
	w.must(err)
}

// rounds does what is due until nothing is, and lets the chain go on.
func (w *world[T]) rounds() {
	w.Helper()
	for range 200 {
		n, err := w.Round(w.Context())
		w.must(err)
		if n == 0 && w.chain.InFlight() == 0 {
			return
		}
		w.chain.Advance(1)
	}
	w.Fatal("there is no end of work that is due")
}

// until lets time pass, by a step, until a deal is as a test wants it.
func (w *world[T]) until(id fsm.UUID, step time.Duration, what string, is func(*machine.Record) bool) *machine.Record {
	w.Helper()
	for range 400 {
		w.rounds()
		if r := w.record(id); is(r) {
			return r
		}
		w.clock.Advance(step)
		w.chain.Advance(1)
	}
	w.Fatalf("the deal is %+v, want %s", w.record(id), what)
	return nil
}

func (w *world[T]) untilState(id fsm.UUID, step time.Duration, state machine.State) *machine.Record {
	w.Helper()
	return w.until(id, step, state.String(), func(r *machine.Record) bool { return r.State == state })
}

func (w *world[T]) untilMoved(id fsm.UUID) {
	w.Helper()
	w.until(id, time.Minute, "its money moved", func(r *machine.Record) bool { return r.Settlement == machine.SettlementMoved })
}

// untilSuspense lets time pass until what is to go back has gone.
func (w *world[T]) untilSuspense(id fsm.UUID, nano int64) {
	w.Helper()
	w.until(id, time.Minute, "nothing to give back", func(*machine.Record) bool {
		balances, err := w.Books.Balances(w.Context(), id)
		w.must(err)
		return balances[ledger.Suspense] == nano
	})
}

func (w *world[T]) record(id fsm.UUID) *machine.Record {
	w.Helper()
	found, err := w.Deals.Get(w.Context(), id)
	w.must(err)
	return found.Record
}

// awaiting returns a deal that waits for its payment, and the address that it is paid to.
func (w *world[T]) awaiting() (id fsm.UUID, at ton.Address) {
	w.Helper()
	w.last++
	id = fsm.UUID{0: w.last, 6: 0x70, 8: 0x80}
	w.did(w.Deals.Create(w.Context(), id, machine.Create{OwnerID: 8, PriceNano: price}, advertiser))
	w.did(w.Deals.SubmitOffer(w.Context(), id, advertiser))
	w.did(w.Deals.Accept(w.Context(), id, owner))
	r := w.untilState(id, time.Second, machine.AwaitingPayment)
	w.must(at.UnmarshalText([]byte(r.DepositAddress.V)))
	w.deposits[at] = id
	return id, at
}

func (w *world[T]) pay(to ton.Address, nano uint64) {
	w.Helper()
	w.chain.Give(address.NewAddress(0, 0, to.Hash[:]), nano)
	w.chain.Settle()
}

// funded returns a deal that is paid, with its draft approved.
func (w *world[T]) approved() (id fsm.UUID) {
	w.Helper()
	id, at := w.awaiting()
	w.pay(at, price)
	w.untilState(id, time.Second, machine.Funded)
	w.did(w.Deals.SubmitDraft(w.Context(), id, machine.SubmitDraft{Draft: 1, Creative: fsm.JSON(`{"text":"buy"}`)}, owner))
	w.did(w.Deals.Approve(w.Context(), id, machine.Approve{Draft: 1}, advertiser))
	return id
}

// recipient is the address of a contract that takes money.
func (w *world[T]) recipient() string {
	return ton.Address{Hash: [32]byte(w.chain.Faucet().Data())}.String()
}

// check compares chain and books, when no money is under way.
func (w *world[T]) check() {
	w.Helper()
	for n := 0; w.moving(); n++ {
		if n == 100 {
			w.Fatal("there is no end of money that is under way")
		}
		w.rounds()
		w.clock.Advance(time.Minute)
		w.chain.Advance(1)
	}
	w.chain.Settle()
	oracle.World[T]{Chain: w.chain, Database: w.database, Escrow: w.Escrow(), Deposits: w.deposits}.Check(w)
}

// moving reports whether a transfer is under way.
func (w *world[T]) moving() bool {
	w.Helper()
	for _, state := range []transfer.State{transfer.Planned, transfer.Signed, transfer.Sent} {
		list, err := w.Transfers.List(w.Context(), state, nil, 1)
		w.must(err)
		if len(list) > 0 {
			return true
		}
	}
	return false
}

// balances fails unless a deal has these balances; NETWORK_FEES and EXTERNAL_TON are for the oracle.
func (w *world[T]) balances(id fsm.UUID, want map[ledger.Account]int64) {
	w.Helper()
	got, err := w.Books.Balances(w.Context(), id)
	w.must(err)
	for account, nano := range got {
		if account != ledger.NetworkFees && account != ledger.ExternalTON && nano != want[account] {
			w.Errorf("%s has %d, want %d", account, nano, want[account])
		}
	}
}

// feesOf is what the chain has taken from an account.
func (w *world[T]) feesOf(a ton.Address) (nano uint64) {
	for _, tx := range w.chain.Transactions(address.NewAddress(0, 0, a.Hash[:])) {
		nano += tx.TotalFees.Coins.Nano().Uint64()
	}
	return nano
}
