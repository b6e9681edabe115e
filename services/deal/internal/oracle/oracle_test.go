package oracle_test

import (
	"context"
	"crypto/ed25519"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/xssnick/tonutils-go/address"

	"github.com/fsmgen/fsmgen/adapters/ton"
	"github.com/fsmgen/fsmgen/adapters/ton/tontest"
	"github.com/fsmgen/fsmgen/generated/transfer"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/deal/internal/dbtest"
	"github.com/fsmgen/fsmgen/services/deal/internal/oracle"
	"github.com/fsmgen/fsmgen/services/deal/ledger"
)

const coin = 1_000_000_000

var (
	key  = ed25519.NewKeyFromSeed([]byte("0123456789abcdef0123456789abcdef"))
	deal = fsm.UUID{6: 0x70, 8: 0x80, 15: 1}
)

// spy keeps what would fail a test.
type spy struct {
	testing.TB
	lines []string
}

func (s *spy) Errorf(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

// world has a deal with a deposit that is booked, and an escrow wallet with 10 TON.
type world struct {
	*testing.T
	oracle.World[*sql.Tx]
	client *ton.Client
	escrow *ton.Highload
	at     ton.Address
	books  *ledger.Ledger[*sql.Tx]
	engine *engine.Engine[*sql.Tx]
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, books: ledger.SQLite()}
	w.Chain, w.Database = tontest.New(t), dbtest.SQLite(t)
	var err error
	w.client, err = ton.Open(t.Context(), ton.Config{File: w.Chain.ConfigFile(w.Chain.Serve()), Timeout: 10 * time.Second, Now: w.Chain.Now})
	w.must(err)
	t.Cleanup(w.client.Close)
	w.escrow, err = ton.NewHighload(ton.HighloadConfig{Client: w.client, Key: key, Subwallet: 9})
	w.must(err)
	w.at, err = ton.WalletAddress(key.Public().(ed25519.PublicKey), 1)
	w.must(err)
	w.Escrow, w.Deposits = w.escrow.Address(), map[ton.Address]fsm.UUID{w.at: deal}
	w.engine, err = engine.New(w.Database.Store, engine.Config{}, transfer.Define(confirmsAll{}, transfer.DefaultParams()))
	w.must(err)
	w.must(w.engine.Migrate(t.Context()))
	w.must(w.Database.InTx(t.Context(), func(tx *sql.Tx) error { return w.books.Migrate(t.Context(), tx) }))
	w.give(w.Escrow, 10*coin)
	w.give(w.at, coin)
	w.post(ledger.Stray(deal, w.last(), coin))
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) give(to ton.Address, nano uint64) {
	w.Chain.Give(address.NewAddress(0, 0, to.Hash[:]), nano)
	w.Chain.Settle()
}

// last returns the last transaction at the address of the deal.
func (w *world) last() string {
	list := w.Chain.Transactions(address.NewAddress(0, 0, w.at.Hash[:]))
	return ton.Hash(list[len(list)-1].Hash).String()
}

func (w *world) post(e ledger.Entry) {
	w.Helper()
	w.must(w.Database.InTx(w.Context(), func(tx *sql.Tx) error { return w.books.Post(w.Context(), tx, e, time.Unix(0, 0)) }))
}

// finds compares what the oracle finds, a line each, with what it must have in it.
func (w *world) finds(want ...string) {
	w.Helper()
	s := &spy{TB: w.T}
	w.Check(s)
	got := s.lines
	ok := len(got) == len(want)
	for i := range want {
		ok = ok && strings.Contains(got[i], want[i])
	}
	if !ok {
		w.Errorf("the oracle finds %q, want %q", got, want)
	}
}

// pays lets the escrow wallet pay the faucet.
func (w *world) pays(n uint64, nano uint64, comment string) {
	w.Helper()
	s, err := w.escrow.Sign(w.Context(), ton.Transfer{To: ton.Address{Hash: [32]byte(w.Chain.Faucet().Data())}, Nano: nano, Comment: comment}, n)
	w.must(err)
	w.must(w.escrow.Send(w.Context(), s))
	w.Chain.Settle()
	o, err := w.escrow.Outcome(w.Context(), s)
	w.must(err)
	w.post(ledger.Failed(deal, s.BodyHash.String(), int64(o.Fees)))
}

// confirmsAll answers that every transfer is confirmed.
type confirmsAll struct{}

func (confirmsAll) Sign(_ context.Context, _ fsm.Dispatch, e transfer.SignEffect) (transfer.SignAnswer, error) {
	return transfer.SignedAs{Boc: "x", BodyHash: e.TransferID.String(), ValidUntil: time.Unix(0, 0), SinceHash: "x"}, nil
}

func (confirmsAll) Send(context.Context, fsm.Dispatch, transfer.SendEffect) (transfer.SendAnswer, error) {
	return transfer.Tried{}, nil
}

func (confirmsAll) Follow(context.Context, fsm.Dispatch, transfer.FollowEffect) (transfer.FollowAnswer, error) {
	return transfer.Found{TxHash: "x"}, nil
}

func (confirmsAll) BookSent(context.Context, *sql.Tx, fsm.Dispatch, transfer.BookSentEffect) error {
	return nil
}
func (confirmsAll) BookFee(context.Context, *sql.Tx, fsm.Dispatch, transfer.BookFeeEffect) error {
	return nil
}
func (confirmsAll) TellDeal(context.Context, fsm.Dispatch, transfer.TellDealEffect) error { return nil }
func (confirmsAll) Alert(context.Context, fsm.Dispatch, transfer.AlertEffect) error       { return nil }

// confirmed makes a payout that is confirmed.
func (w *world) confirmed() (id fsm.UUID) {
	w.Helper()
	id = fsm.UUID{6: 0x70, 8: 0x80, 15: 7}
	faucet := ton.Address{Hash: [32]byte(w.Chain.Faucet().Data())}
	_, err := transfer.In(w.engine).Plan(w.Context(), id, transfer.Plan{
		DealID: deal, Kind: transfer.KindPayout, Settles: fsm.Some(deal), OwnerID: fsm.Some[int64](8), Cause: "payout", AmountNano: coin, Recipient: fsm.Some(faucet.String()),
	}, transfer.Actor{Role: transfer.RoleSystem})
	w.must(err)
	for n := 1; n > 0; {
		n, err = w.engine.Step(w.Context())
		w.must(err)
	}
	return id
}

// TestCheck: each difference is found, and nothing else.
func TestCheck(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(*world){
		"all is well": func(w *world) { w.finds() },
		"an operator puts money in": func(w *world) {
			w.give(w.Escrow, coin)
			w.finds()
		},
		"a deposit is not booked": func(w *world) {
			w.give(w.at, coin)
			w.finds("a difference of ", "and 0 are booked", "has 1 deposits in the chain more")
		},
		"a deposit is invented": func(w *world) {
			w.post(ledger.Stray(deal, "nowhere", 5))
			w.finds("a difference of -5", "has -1 deposits in the chain more")
		},
		"money leaves without a transfer": func(w *world) {
			w.pays(1, coin, "for me")
			w.finds("a difference of -1000000000", `of no transfer: "for me"`)
		},
		"a transfer is confirmed and not paid": func(w *world) {
			w.confirmed()
			w.finds("has arrived 0 times")
		},
		"a transfer is paid twice": func(w *world) {
			id := w.confirmed()
			w.pays(1, coin, id.String())
			w.pays(2, coin, id.String())
			w.finds("a difference of -2000000000", "has arrived 2 times", "was settled 2 times")
		},
		"a settled deal has an escrow": func(w *world) {
			id := w.confirmed()
			w.post(ledger.Entry{Deal: deal, Cause: "held", Lines: []ledger.Line{{Debit: ledger.Suspense, Credit: ledger.Escrow(deal), Nano: coin}}})
			w.pays(1, coin, id.String())
			w.finds("a difference of -1000000000", "which has 1000000000 in escrow")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(newWorld(t))
		})
	}
}
