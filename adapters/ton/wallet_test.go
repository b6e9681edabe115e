package ton_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/xssnick/tonutils-go/tvm/cell"

	"github.com/fsmgen/fsmgen/adapters/ton"
	"github.com/fsmgen/fsmgen/adapters/ton/tontest"
)

func wallet(t testing.TB, n *network, subwallet uint32) *ton.Wallet {
	t.Helper()
	w, err := ton.NewWallet(ton.WalletConfig{Client: n.client, Key: key, Subwallet: subwallet})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func sign(t testing.TB, w *ton.Wallet, to ton.Transfer) ton.Signed {
	t.Helper()
	s, err := w.Sign(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// transfer signs and sends.
func transfer(t testing.TB, _ *network, w *ton.Wallet, to ton.Transfer) ton.Signed {
	t.Helper()
	s := sign(t, w, to)
	if err := w.Send(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return s
}

func outcome(t testing.TB, w *ton.Wallet, s ton.Signed) ton.Outcome {
	t.Helper()
	o, err := w.Outcome(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// funded returns a network with a wallet that has 10 TON, not deployed.
func funded(t testing.TB) (*network, *ton.Wallet) {
	t.Helper()
	n := newNetwork(t, 1)
	w := wallet(t, n, 7)
	n.give(w.Address(), 10*coin)
	n.Settle()
	return n, w
}

// TestTransfer: a transfer that is signed is unknown until the chain has it, then found, and delivered
// when the recipient is credited. The wallet's balance is what it had, less the amount and the fees.
func TestTransfer(t *testing.T) {
	t.Parallel()
	n, w := funded(t)
	owner := holder("owner")
	for i, want := range []uint64{2 * coin, 3 * coin} { // the first one deploys the wallet
		before := n.balance(w.Address())
		s := sign(t, w, ton.Transfer{To: owner, Nano: want, Comment: fmt.Sprintf("payout %d", i)})
		if o := outcome(t, w, s); o.State != ton.Unknown || s.Seqno != uint32(i) {
			t.Errorf("before it is sent: %+v of seqno %d", o, s.Seqno)
		}
		if err := w.Send(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if o := outcome(t, w, s); o.State != ton.Unknown {
			t.Errorf("before a block has it: %+v", o)
		}
		n.Advance(1)
		if o := outcome(t, w, s); o.State != ton.Found || o.Delivery != ton.OnItsWay || o.OutMsgCount != 1 || o.SkippedActions != 0 {
			t.Errorf("before it arrives: %+v", o)
		}
		n.Advance(1)
		o := outcome(t, w, s)
		if o.State != ton.Found || o.Delivery != ton.Delivered {
			t.Errorf("after it has arrived: %+v", o)
		}
		arrived := n.Transactions(library(owner))
		if got := arrived[len(arrived)-1].IO.In.AsInternal().Amount.Nano().Uint64(); got != want || len(arrived) != i+1 {
			t.Errorf("the recipient got %d in %d transactions, want %d", got, len(arrived), want)
		}
		if spent := before - n.balance(w.Address()); spent != want+o.Fees {
			t.Errorf("the wallet has spent %d, and the outcome says %d and fees of %d", spent, want, o.Fees)
		}
	}
}

// TestTheSameBytesAgain: however often a transfer is sent, before and after it is executed, it is
// executed once.
func TestTheSameBytesAgain(t *testing.T) {
	t.Parallel()
	n, w := funded(t)
	owner := holder("owner")
	s := sign(t, w, ton.Transfer{To: owner, Nano: coin})
	for range 3 { // a liteserver takes all of them: no block has one yet
		if err := w.Send(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	n.Settle()
	err := w.Send(t.Context(), s)
	wants(t, "after it was executed", err, ton.ErrRefused)
	message, parse := cell.FromBOC(s.BOC)
	if parse != nil {
		t.Fatal(parse)
	}
	n.Inject(message) // a liteserver that does not look
	n.Settle()
	if got := n.balance(owner); got != coin {
		t.Errorf("the recipient has %d", got)
	}
}

// TestASendThatIsCut: whatever happens to the connection during a send, the outcome tells whether the
// chain has the transfer, and sending it again pays once.
func TestASendThatIsCut(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fault tontest.SendFault
		fails bool
		taken bool
	}{
		"before": {tontest.CutBefore, true, false},
		"during": {tontest.CutDuring, true, true},
		"after":  {tontest.CutAfter, false, true},
		"forgot": {tontest.Forget, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNetwork(t, 1)
			w, owner := wallet(t, n, 7), holder("owner")
			n.give(w.Address(), 10*coin)
			n.Settle()
			s := sign(t, w, ton.Transfer{To: owner, Nano: coin})
			send := w.Send
			n.client = n.hasty(t)
			w = wallet(t, n, 7)
			if tt.fails {
				send = w.Send
			}
			n.servers[0].Break(tontest.Faults{Send: tt.fault})
			if err := send(t.Context(), s); tt.fails {
				wants(t, "send", err, ton.ErrUnreachable)
			} else if err != nil {
				t.Errorf("send: %v", err)
			}
			n.servers[0].Repair()
			n.Settle()
			want := ton.Unknown
			if tt.taken {
				want = ton.Found
			}
			if o := eventually(t, w, s); o.State != want {
				t.Errorf("after the fault: %+v", o)
			}
			atLast(t, func() error {
				err := w.Send(t.Context(), s)
				if errors.Is(err, ton.ErrRefused) {
					return nil
				}
				return err
			})
			n.Settle()
			if o := eventually(t, w, s); o.State != ton.Found || o.Delivery != ton.Delivered || n.balance(owner) != coin {
				t.Errorf("in the end: %+v, and the recipient has %d", o, n.balance(owner))
			}
		})
	}
}

// eventually asks for an outcome until the connection is there again.
func eventually(t testing.TB, w *ton.Wallet, s ton.Signed) (o ton.Outcome) {
	t.Helper()
	atLast(t, func() (err error) {
		o, err = w.Outcome(t.Context(), s)
		return err
	})
	return o
}

// TestExpired: a transfer that was not executed in its time is expired, by the chain's clock and the
// slack; it is never executed after that, and its seqno is free.
func TestExpired(t *testing.T) {
	t.Parallel()
	n, w := funded(t)
	owner := holder("owner")
	s := sign(t, w, ton.Transfer{To: owner, Nano: coin, Comment: "late"})
	n.Sleep(s.ValidUntil.Sub(n.Now()) + 30*time.Second)
	n.Advance(1)
	if o := outcome(t, w, s); o.State != ton.Unknown || !o.View.Time.After(s.ValidUntil) {
		t.Errorf("within the slack: %+v", o)
	}
	n.Sleep(time.Minute)
	n.Advance(1)
	if o := outcome(t, w, s); o.State != ton.Expired {
		t.Errorf("after the slack: %+v", o)
	}
	wants(t, "an expired transfer", w.Send(t.Context(), s), ton.ErrRefused)
	again := transfer(t, n, w, ton.Transfer{To: owner, Nano: 2 * coin, Comment: "again"})
	n.Settle()
	if o := outcome(t, w, again); again.Seqno != s.Seqno || o.Delivery != ton.Delivered || n.balance(owner) != 2*coin {
		t.Errorf("the next one: %+v of seqno %d", o, again.Seqno)
	}
	if o := outcome(t, w, s); o.State != ton.Displaced {
		t.Errorf("after the next one: %+v", o)
	}
}

// TestExecutedInTime: a transfer that is found after its time was executed in it.
func TestExecutedInTime(t *testing.T) {
	t.Parallel()
	n, w := funded(t)
	s := transfer(t, n, w, ton.Transfer{To: holder("owner"), Nano: coin})
	n.Settle()
	n.Sleep(time.Hour)
	n.Advance(1)
	if o := outcome(t, w, s); o.State != ton.Found || o.Time.After(s.ValidUntil) {
		t.Errorf("%+v", o)
	}
}

// TestAnOldViewExpiresNothing: a liteserver that lags, also by the local clock, is never believed that
// a transfer has expired.
func TestAnOldViewExpiresNothing(t *testing.T) {
	t.Parallel()
	n, w := funded(t)
	s := transfer(t, n, w, ton.Transfer{To: holder("owner"), Nano: coin})
	n.Advance(1) // executed, and the liteserver does not know
	n.servers[0].Break(tontest.Faults{Behind: 1})
	other := ton.Config{File: n.ConfigFile(n.servers...), Reconnect: time.Millisecond, Now: func() time.Time { return s.ValidUntil.Add(time.Hour) }}
	late, err := ton.Open(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	lateWallet, err := ton.NewWallet(ton.WalletConfig{Client: late, Key: key, Subwallet: 7})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lateWallet.Outcome(t.Context(), s); !errors.Is(err, ton.ErrNotSynchronised) {
		t.Errorf("a last block that is old: %v", err)
	}
	if o, err := w.Outcome(t.Context(), s); err == nil && o.State != ton.Unknown || err != nil && !errors.Is(err, ton.ErrNotSynchronised) {
		t.Errorf("a liteserver that lags: %+v, %v", o, err)
	}
	n.servers[0].Repair()
	if o := outcome(t, w, s); o.State != ton.Found {
		t.Errorf("after it has caught up: %+v", o)
	}
}

// TestOneSeqno: of two transfers that were signed for one seqno, the chain executes one.
func TestOneSeqno(t *testing.T) {
	t.Parallel()
	n, w := funded(t)
	owner, advertiser := holder("owner"), holder("advertiser")
	release := sign(t, w, ton.Transfer{To: owner, Nano: coin})
	refund := sign(t, w, ton.Transfer{To: advertiser, Nano: coin})
	for _, s := range []ton.Signed{refund, release} {
		if err := w.Send(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	n.Settle()
	if n.balance(owner)+n.balance(advertiser) != coin {
		t.Errorf("they have %d and %d", n.balance(owner), n.balance(advertiser))
	}
	if o := outcome(t, w, refund); o.Delivery != ton.Delivered {
		t.Errorf("the first one: %+v", o)
	}
	if o := outcome(t, w, release); o.State != ton.Displaced {
		t.Errorf("the second one: %+v", o)
	}
}

// TestTooSmallABalance: what is less than the amount is refused; where only the fees are missing, the
// transfer is found, and nothing was sent.
func TestTooSmallABalance(t *testing.T) {
	t.Parallel()
	n, w := funded(t)
	owner := holder("owner")
	if _, err := w.Sign(t.Context(), ton.Transfer{To: owner, Nano: 11 * coin}); !errors.Is(err, ton.ErrBalance) {
		t.Errorf("got %v", err)
	}
	s := transfer(t, n, w, ton.Transfer{To: owner, Nano: 10 * coin})
	n.Settle()
	o := outcome(t, w, s)
	if o.State != ton.Found || o.Delivery != ton.NotSent || o.OutMsgCount != 0 || o.SkippedActions != 1 || n.balance(owner) != 0 {
		t.Errorf("%+v, and the recipient has %d", o, n.balance(owner))
	}
	if spent := 10*coin - n.balance(w.Address()); spent != o.Fees {
		t.Errorf("the wallet has spent %d, and the outcome says fees of %d", spent, o.Fees)
	}
}

// TestRecipients: what becomes of money that a recipient can't take, with and without bouncing.
func TestRecipients(t *testing.T) {
	t.Parallel()
	n, w := funded(t)
	other := deposit(t, 8) // has money and no code
	n.give(other, coin)
	n.Settle()
	for name, tt := range map[string]struct {
		to     ton.Address
		bounce bool
		want   ton.Delivery
	}{
		"missing, bounces":  {holder("missing"), true, ton.Bounced},
		"missing, stays":    {holder("waiting"), false, ton.Delivered},
		"no code, bounces":  {other, true, ton.Bounced},
		"no code, stays":    {other, false, ton.Delivered},
		"a wallet, bounces": {ton.Address{Hash: [32]byte(n.Faucet().Data())}, true, ton.Delivered},
	} {
		before, had := n.balance(w.Address()), n.balance(tt.to)
		s := transfer(t, n, w, ton.Transfer{To: tt.to, Nano: coin, Bounce: tt.bounce, Comment: name})
		n.Advance(2)
		if tt.want == ton.Bounced {
			o := outcome(t, w, s)
			if onItsWay := o.Delivery == ton.OnItsWay || o.Delivery == ton.Bouncing; !onItsWay || o.Returned != 0 {
				t.Errorf("%s: before it is back: %+v", name, o)
			}
		}
		n.Settle()
		o := outcome(t, w, s)
		if o.Delivery != tt.want {
			t.Errorf("%s: %+v", name, o)
		}
		if tt.want == ton.Bounced && (o.Returned == 0 || o.Returned >= coin || n.balance(tt.to) > had) {
			t.Errorf("%s: %d came back", name, o.Returned)
		}
		if tt.want == ton.Delivered && o.Returned != 0 {
			t.Errorf("%s: %d came back", name, o.Returned)
		}
		want := coin + o.Fees - o.Returned
		if spent := before - n.balance(w.Address()); spent != want {
			t.Errorf("%s: the wallet has spent %d, and the outcome says %d: %+v", name, spent, want, o)
		}
		if got := n.balance(tt.to) - had; tt.want == ton.Delivered && got != coin-o.RecipientFees {
			t.Errorf("%s: the recipient got %d, and its fees are %d", name, got, o.RecipientFees)
		}
	}
}

// TestRestore: the bytes say whose transfer it is and how it is found, deployed or not.
func TestRestore(t *testing.T) {
	t.Parallel()
	n, w := funded(t)
	h := highload(t, n)
	n.give(h.Address(), 10*coin)
	n.Settle()
	for i := range uint64(2) { // the first ones deploy
		ids, err := h.Sign(t.Context(), ton.Transfer{To: holder("owner"), Nano: coin}, i)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []ton.Signed{sign(t, w, ton.Transfer{To: holder("owner"), Nano: coin, Bounce: true, Comment: "x"}), ids} {
			got, err := ton.Restore(s.BOC)
			if err != nil || got.From != s.From || got.BodyHash != s.BodyHash || !bytes.Equal(got.BOC, s.BOC) {
				t.Errorf("%d: restored %+v of %+v: %v", i, got, s, err)
			}
			if err := w.Send(t.Context(), got); err != nil {
				t.Error(err)
			}
			n.Settle()
			if o := outcome(t, w, s); o.Delivery != ton.Delivered && o.Delivery != ton.Bounced {
				t.Errorf("%d: %+v", i, o)
			}
		}
	}
	for name, boc := range map[string][]byte{"nothing": nil, "no cell": []byte("te6cc"), "no message": cell.BeginCell().MustStoreUInt(7, 32).EndCell().ToBOC()} {
		if got, err := ton.Restore(boc); err == nil || !strings.HasPrefix(err.Error(), "ton: read a signed transfer: ") {
			t.Errorf("%s: restored %+v, %v", name, got, err)
		}
	}
}

// TestBadTransfers: what can't be right is refused before anything is signed.
func TestBadTransfers(t *testing.T) {
	t.Parallel()
	w, err := ton.NewWallet(ton.WalletConfig{Client: &ton.Client{}, Key: key, Subwallet: 1})
	if err != nil {
		t.Fatal(err)
	}
	owner := holder("owner")
	for want, bad := range map[string]ton.Transfer{
		"the amount is zero":       {To: owner},
		"more than there are":      {To: owner, Nano: 1 << 63},
		"no address: none":         {Nano: 1},
		"the comment has 121 byte": {To: owner, Nano: 1, Comment: strings.Repeat("x", 121)},
	} {
		if _, err := w.Sign(t.Context(), bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	foreign, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for want, config := range map[string]ton.WalletConfig{
		"needs a Client and a Key": {Key: key},
		"have an ed25519":          {Client: &ton.Client{}, Key: foreign},
		"is reserved":              {Client: &ton.Client{}, Key: key, Subwallet: ton.ReservedSubwallet},
	} {
		if _, err := ton.NewWallet(config); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
