package ton_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xssnick/tonutils-go/tlb"
	"github.com/xssnick/tonutils-go/tvm/cell"

	"github.com/fsmgen/fsmgen/adapters/ton"
	"github.com/fsmgen/fsmgen/adapters/ton/tontest"
)

// TestFirstDeposit: the first payment to an address without code is aborted in the chain, and credited.
func TestFirstDeposit(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 1)
	to := deposit(t, 1)
	b := newBooks(to)
	n.Pay(tontest.Payment{To: library(to), Nano: 3 * coin, Body: tontest.Comment("deal 1")})
	n.Settle()
	round(t, watcher(t, n.client, b, nil))
	list := b.deposits(to)
	if len(list) != 1 {
		t.Fatalf("credited %+v", list)
	}
	got := list[0]
	if got.Nano != 3*coin || got.Comment != "deal 1" || library(got.From).StringRaw() != n.Faucet().StringRaw() || got.Time.After(n.Now()) {
		t.Errorf("credited %+v", got)
	}
	chain := n.Transactions(library(to))
	if len(chain) != 1 || chain[0].LT != got.LT || [32]byte(chain[0].Hash) != got.Hash {
		t.Errorf("the chain has %v", chain)
	}
	if d, ok := chain[0].Description.(tlb.TransactionDescriptionOrdinary); !ok || !d.Aborted {
		t.Errorf("the chain did not abort it: %+v", chain[0].Description)
	}
}

// TestOneTransactionPaysTwoAddresses: both are credited.
func TestOneTransactionPaysTwoAddresses(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 1)
	one, two := deposit(t, 1), deposit(t, 2)
	b := newBooks(one, two)
	w := watcher(t, n.client, b, nil)
	round(t, w)
	n.Pay(tontest.Payment{To: library(one), Nano: coin}, tontest.Payment{To: library(two), Nano: 2 * coin})
	n.Settle()
	round(t, w)
	if b.sum(one) != coin || b.sum(two) != 2*coin {
		t.Errorf("credited %d and %d", b.sum(one), b.sum(two))
	}
	if keys := []string{b.deposits(one)[0].Key(), b.deposits(two)[0].Key()}; keys[0] == keys[1] {
		t.Errorf("both have the key %s", keys[0])
	}
}

// TestWhatIsNoDeposit: a payment that bounces, a message that the wallet sends, and money that comes
// back to it.
func TestWhatIsNoDeposit(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 1)
	to, missing := deposit(t, 1), holder("missing")
	b := newBooks(to)
	w := watcher(t, n.client, b, nil)
	round(t, w)
	n.Pay(tontest.Payment{To: library(to), Nano: coin, Bounce: true}) // to an account without code
	n.Settle()
	round(t, w)
	if b.sum(to) != 0 {
		t.Errorf("a bounced payment was credited: %d", b.sum(to))
	}
	n.give(to, 5*coin)
	n.Settle()
	signed := transfer(t, n, wallet(t, n, 1), ton.Transfer{To: missing, Nano: coin, Bounce: true})
	n.Settle()
	round(t, w)
	if b.sum(to) != 5*coin {
		t.Errorf("credited %d, want the one payment", b.sum(to))
	}
	history := n.Transactions(library(to))
	if last := history[len(history)-1]; !last.IO.In.AsInternal().Bounced || len(history) != 4 {
		t.Errorf("the address has %d transactions, and the last one is %v, after %+v", len(history), last.IO.In, signed.To)
	}
}

// TestCosts: what an address has is what was credited, less the fees and costs: also where others let it
// pay for its storage.
func TestCosts(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 1)
	to := deposit(t, 1)
	b := newBooks(to)
	w := watcher(t, n.client, b, nil)
	own := int64(0) // what the wallet has sent, and paid for it
	check := func(what string, costs int) {
		t.Helper()
		round(t, w)
		want := int64(b.sum(to)) - own
		for _, d := range b.deposits(to) {
			want -= int64(d.Fees)
		}
		for _, nano := range b.costs {
			want -= int64(nano)
		}
		if got := int64(n.balance(to)); got != want || len(b.costs) != costs {
			t.Errorf("%s: it has %d and the books say %d; %d costs, want %d", what, got, want, len(b.costs), costs)
		}
	}
	later := func() {
		n.Sleep(90 * 24 * time.Hour)
		n.Advance(1)
	}
	strangers := []tontest.Payment{{To: library(to), Nano: coin, Bounce: true}, {To: library(to), Nano: 0}}
	n.give(to, 5*coin)
	n.Settle()
	check("a deposit", 0)
	for i, p := range strangers { // it has no code
		later()
		n.Pay(p)
		n.Settle()
		check("without code", i+1)
	}
	own += sends(t, n, wallet(t, n, 1))
	check("its own message", 2)
	for i, p := range strangers[1:] { // it has code, and accepts all money
		later()
		n.Pay(p)
		n.Settle()
		check("with code", i+3)
	}
}

// sends makes a transfer, and returns what the wallet has spent.
func sends(t *testing.T, n *network, w *ton.Wallet) int64 {
	t.Helper()
	s := transfer(t, n, w, ton.Transfer{To: ton.Address{Hash: [32]byte(n.Faucet().Data())}, Nano: coin})
	n.Settle()
	return int64(coin + outcome(t, w, s).Fees)
}

// TestBadComments: a comment that is no text is left away, and the money is credited.
func TestBadComments(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 1)
	to := deposit(t, 1)
	b := newBooks(to)
	bodies := []*cell.Cell{
		nil,
		cell.BeginCell().EndCell(),
		cell.BeginCell().MustStoreUInt(0, 32).MustStoreSlice([]byte{0xff, 0xfe, 'a'}, 24).EndCell(),
		cell.BeginCell().MustStoreUInt(0, 32).MustStoreSlice([]byte("a\x00b"), 24).EndCell(),
		cell.BeginCell().MustStoreUInt(0, 32).MustStoreUInt(5, 3).EndCell(),
		cell.BeginCell().MustStoreUInt(0x0f8a7ea5, 32).MustStoreUInt(7, 64).EndCell(), // a jetton's transfer
		tontest.Comment(strings.Repeat("x", 1025)),
		tontest.Comment("fine: " + strings.Repeat("ж", 400)),
	}
	for i, body := range bodies {
		n.Pay(tontest.Payment{To: library(to), Nano: uint64(coin + i), Body: body})
	}
	n.Settle()
	round(t, watcher(t, n.client, b, nil))
	list := b.deposits(to)
	if len(list) != len(bodies) {
		t.Fatalf("%d of %d are credited", len(list), len(bodies))
	}
	for _, d := range list {
		if fine := d.Nano == coin+uint64(len(bodies)-1); fine != strings.HasPrefix(d.Comment, "fine: ") || !fine && d.Comment != "" {
			t.Errorf("deposit of %d has the comment %q", d.Nano, d.Comment)
		}
	}
}

// TestCursors: a watcher that did not run finds all that has come, oldest first, over several pages;
// the next one finds only what is new.
func TestCursors(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 1)
	to := deposit(t, 1)
	b := newBooks(to)
	const first, then = 40, 20
	for i := range first {
		n.give(to, uint64(coin+i))
	}
	n.Settle()
	round(t, watcher(t, n.client, b, nil))
	for i := range then {
		n.give(to, uint64(coin+i))
	}
	n.Settle()
	before := n.servers[0].Calls("GetTransactions")
	round(t, watcher(t, n.client, b, nil))
	if got := n.servers[0].Calls("GetTransactions") - before; got != 2 {
		t.Errorf("the second watcher has read %d pages, want 2", got)
	}
	if lts := b.order[to]; len(lts) != first+then || !slices.IsSorted(lts) {
		t.Errorf("%d deposits, in order: %v", len(lts), slices.IsSorted(lts))
	}
}

// TestAnotherCursor: a cursor that the account never had, of the same logical time or of another, is
// an error, and nothing is credited.
func TestAnotherCursor(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 1)
	to := deposit(t, 1)
	n.give(to, coin)
	n.give(to, 2*coin)
	n.Settle()
	first := n.Transactions(library(to))[0]
	for name, cursor := range map[string]ton.Cursor{
		"another hash": {LT: first.LT, Hash: [32]byte{1}},
		"another time": {LT: first.LT - 1, Hash: [32]byte(first.Hash)},
	} {
		b := newBooks()
		b.cursors[to] = cursor
		w := watcher(t, n.client, b, nil)
		_, err := w.Round(t.Context())
		if want := ton.ErrProof; name == "another hash" {
			wants(t, name, err, want)
			if b.calls != 0 {
				t.Errorf("%s: credited %d", name, b.sum(to))
			}
		} else if err != nil || b.sum(to) != 3*coin { // it stands before the first transaction
			t.Errorf("%s: %v, credited %d", name, err, b.sum(to))
		}
	}
}

// TestAFailedCredit: the deposit is offered again until it is stored, though no block has it any more.
func TestAFailedCredit(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 1)
	to, other := deposit(t, 1), deposit(t, 2)
	b := newBooks(to, other)
	w := watcher(t, n.client, b, nil)
	round(t, w)
	n.give(to, coin)
	n.Settle()
	b.fail = errors.New("the database is gone")
	for range 2 {
		if _, err := w.Round(t.Context()); !errors.Is(err, b.fail) {
			t.Errorf("got %v", err)
		}
		n.Advance(1)
	}
	b.fail = nil
	round(t, w)
	if b.sum(to) != coin {
		t.Errorf("credited %d", b.sum(to))
	}
}

// TestANewAddress: an address that is watched from now on is looked at once, whatever came before.
func TestANewAddress(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 1)
	early, late := deposit(t, 1), deposit(t, 2)
	b := newBooks(early)
	w := watcher(t, n.client, b, nil)
	n.give(late, coin)
	n.Settle()
	round(t, w)
	n.Advance(1)
	round(t, w)
	b.watch(late)
	n.Advance(1)
	round(t, w)
	if b.sum(late) != coin {
		t.Errorf("credited %d", b.sum(late))
	}
}

// TestCallsPerRound: a round reads the blocks since the one before, and the accounts that they name;
// the other addresses cost nothing.
func TestCallsPerRound(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 1)
	const many = 300
	var all []ton.Address
	for i := range uint32(many) {
		all = append(all, deposit(t, i+1))
	}
	b := newBooks(all...)
	w := watcher(t, n.client, b, nil)
	round(t, w) // looks at all
	if got := n.servers[0].Calls("GetAccountState"); got != many {
		t.Errorf("the first round has looked at %d accounts", got)
	}
	n.give(all[7], coin)
	n.give(holder("a stranger"), coin)
	n.Advance(3)
	before := n.client.Calls()
	round(t, w)
	// The last block, its proof, its time, its shards; three blocks; one account, one page.
	if got := n.client.Calls() - before; got != 4+3+2 || b.sum(all[7]) != coin {
		t.Errorf("the round has made %d calls, and credited %d", got, b.sum(all[7]))
	}
}

// TestALargeGap: behind more blocks than a round may read, it looks at every account.
func TestALargeGap(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 1)
	to := deposit(t, 1)
	b := newBooks(to, deposit(t, 2))
	w := watcher(t, n.client, b, func(c *ton.WatcherConfig) { c.MaxGap = 3 })
	round(t, w)
	n.give(to, coin)
	n.Advance(5)
	before := n.servers[0].Calls("GetAccountState")
	round(t, w)
	if got := n.servers[0].Calls("GetAccountState") - before; got != 2 || b.sum(to) != coin {
		t.Errorf("it has looked at %d accounts, and credited %d", got, b.sum(to))
	}
}

// TestLiesCreditNothing: a round over a liteserver that lies, lags or is silent credits nothing and
// says why; the next one over a good liteserver credits everything once.
func TestLiesCreditNothing(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		faults tontest.Faults
		want   error
	}{
		"a forged account":    {tontest.Faults{ForgedAccount: true}, ton.ErrProof},
		"an old block":        {tontest.Faults{OldBlock: true}, ton.ErrProof},
		"a foreign validator": {tontest.Faults{ForeignValidator: true}, ton.ErrProof},
		"a forged block":      {tontest.Faults{ForgedBlock: true}, ton.ErrProof},
		"a server behind":     {tontest.Faults{Behind: 5}, ton.ErrNotSynchronised},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNetwork(t, 1)
			to := deposit(t, 1)
			b := newBooks(to)
			w := watcher(t, n.client, b, nil)
			n.Advance(5)
			round(t, w)
			n.give(to, coin)
			n.Settle()
			n.servers[0].Break(tt.faults)
			_, err := w.Round(t.Context())
			wants(t, name, err, tt.want)
			if b.calls != 0 {
				t.Errorf("credited %d", b.sum(to))
			}
			n.servers[0].Repair()
			round(t, w)
			round(t, w)
			if b.sum(to) != coin || n.balance(to) != coin {
				t.Errorf("credited %d", b.sum(to))
			}
		})
	}
}

// TestTwoWatchers: both offer each deposit, and it is credited once.
func TestTwoWatchers(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 2)
	to := deposit(t, 1)
	b := newBooks(to)
	one, two := watcher(t, n.client, b, nil), watcher(t, n.open(t), b, nil)
	round(t, one)
	round(t, two)
	n.give(to, coin)
	n.Settle()
	cursors := b.cursors[to]
	round(t, one)
	b.cursors[to] = cursors // the second one had read it before
	round(t, two)
	if b.sum(to) != coin || b.calls != 2 {
		t.Errorf("credited %d in %d calls", b.sum(to), b.calls)
	}
}

// TestRun: rounds are made until the context ends, also after one that failed.
func TestRun(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 1)
	to := deposit(t, 1)
	n.give(to, coin)
	n.Settle()
	credited := make(chan ton.Deposit)
	ctx, cancel := context.WithCancel(t.Context())
	failed := false
	w := watcher(t, n.client, deposits{
		open: func() ([]ton.Account, error) {
			if !failed {
				failed = true
				return nil, errors.New("the database is gone")
			}
			return []ton.Account{{Address: to}}, nil
		},
		credit: func(list []ton.Deposit) error {
			select {
			case credited <- list[0]:
			case <-ctx.Done():
			}
			return nil
		},
	}, func(c *ton.WatcherConfig) { c.Interval = time.Millisecond; c.Logger = slog.New(slog.DiscardHandler) })
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	if d := <-credited; d.Nano != coin {
		t.Errorf("credited %+v", d)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Run ended with %v", err)
	}
}

// deposits is a store of two functions.
type deposits struct {
	open   func() ([]ton.Account, error)
	credit func([]ton.Deposit) error
}

func (d deposits) Open(context.Context) ([]ton.Account, error) { return d.open() }

func (d deposits) Credit(_ context.Context, _ ton.Address, list []ton.Deposit, _ []ton.Cost, _ ton.Cursor) error {
	return d.credit(list)
}

func TestWatcherConfig(t *testing.T) {
	t.Parallel()
	client, b := &ton.Client{}, newBooks()
	for want, config := range map[string]ton.WatcherConfig{
		"WatcherConfig.Client is missing":   {Deposits: b},
		"WatcherConfig.Deposits is missing": {Client: client},
		"has a negative limit":              {Client: client, Deposits: b, MaxGap: -1},
	} {
		if _, err := ton.NewWatcher(config); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
