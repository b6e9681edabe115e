package deal_test

import (
	"context"
	"crypto/ed25519"
	"database/sql"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
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

// feesOf is what the chain has taken from an account.
func (w *world[T]) feesOf(a ton.Address) (nano uint64) {
	for _, tx := range w.chain.Transactions(address.NewAddress(0, 0, a.Hash[:])) {
		nano += tx.TotalFees.Coins.Nano().Uint64()
	}
	return nano
}
