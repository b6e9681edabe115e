package ton_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/xssnick/tonutils-go/tlb"
	contracts "github.com/xssnick/tonutils-go/ton/wallet"

	"github.com/fsmgen/fsmgen/adapters/ton"
)

func highload(t testing.TB, n *network) *ton.Highload {
	t.Helper()
	h, err := ton.NewHighload(ton.HighloadConfig{Client: n.client, Key: key, Subwallet: 9, ValidFor: 10 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestHighload: transfers that are signed at the same time are all executed, each once.
func TestHighload(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 1)
	h := highload(t, n)
	n.give(h.Address(), 20*coin)
	n.Settle()
	deploy, err := h.Sign(t.Context(), ton.Transfer{To: holder("0"), Nano: coin}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Send(t.Context(), deploy); err != nil {
		t.Fatal(err)
	}
	n.Settle()
	var all []ton.Signed
	for i := uint64(1020); i < 1026; i++ { // around the id that is skipped
		s, err := h.Sign(t.Context(), ton.Transfer{To: holder(fmt.Sprint(i)), Nano: coin, Comment: fmt.Sprint(i)}, i)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	for range 2 {
		for _, s := range all {
			if err := h.Send(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
	}
	n.Settle()
	for _, s := range all {
		o, err := h.Outcome(t.Context(), s)
		if err != nil || o.State != ton.Found || o.Delivery != ton.Delivered || n.balance(s.To) != coin {
			t.Errorf("%d: %+v, %v, and the recipient has %d", s.Seqno, o, err, n.balance(s.To))
		}
		wants(t, "a transfer that was executed", h.Send(t.Context(), s), ton.ErrRefused)
	}
	if _, err := h.Sign(t.Context(), ton.Transfer{To: holder("much"), Nano: 20 * coin}, 1999); !errors.Is(err, ton.ErrBalance) {
		t.Errorf("more than the wallet has: %v", err)
	}
	n.Sleep(time.Hour)
	n.Advance(1)
	late, err := h.Sign(t.Context(), ton.Transfer{To: holder("late"), Nano: coin}, 2000)
	if err != nil {
		t.Fatal(err)
	}
	n.Sleep(10*time.Minute + time.Minute)
	n.Advance(2)
	if o, err := h.Outcome(t.Context(), late); err != nil || o.State != ton.Expired {
		t.Errorf("after its time: %+v, %v", o, err)
	}
	wants(t, "an expired transfer", h.Send(t.Context(), late), ton.ErrRefused)
}

// TestBit1023: the contract does not execute a query id whose low ten bits are 1023. The library signs
// it all the same; QueryID has none of them.
func TestBit1023(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 1)
	n.Advance(3)
	created := n.Now().Add(-time.Minute).Unix()
	for id, accepted := range map[uint32]bool{1022: true, 1023: false, 1024: true, 2047: false, 8191<<10 | 1022: true, 8191<<10 | 1023: false} {
		w, err := contracts.FromPrivateKey(nil, key, contracts.ConfigHighloadV3{
			MessageTTL:     600,
			MessageBuilder: func(context.Context, uint32) (uint32, int64, error) { return id, created, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		if w, err = w.GetSubwallet(id); err != nil { // a wallet for each
			t.Fatal(err)
		}
		n.Give(w.WalletAddress(), 2*coin)
		n.Settle()
		payment, err := w.BuildTransfer(library(holder("owner")), tlb.FromNanoTONU(coin), false, "")
		if err != nil {
			t.Fatal(err)
		}
		message, err := w.PrepareExternalMessageForMany(t.Context(), true, []*contracts.Message{payment})
		if err != nil {
			t.Fatalf("the library refuses %d: %v", id, err)
		}
		boc, err := tlb.ToCell(message)
		if err != nil {
			t.Fatal(err)
		}
		before := n.balance(holder("owner"))
		n.Inject(boc)
		n.Settle()
		if paid := n.balance(holder("owner")) > before; paid != accepted {
			t.Errorf("the query id %d was executed: %v, want %v", id, paid, accepted)
		}
	}
}

func TestQueryID(t *testing.T) {
	t.Parallel()
	seen := make([]bool, 1<<23)
	for n := range uint64(ton.QueryIDs) {
		id := ton.QueryID(n)
		if id&1023 == 1023 || id >= 1<<23 || seen[id] {
			t.Fatalf("the query id of %d is %d", n, id)
		}
		seen[id] = true
	}
	if ton.QueryID(ton.QueryIDs) != ton.QueryID(0) || ton.QueryID(1022) != 1022 || ton.QueryID(1023) != 1024 {
		t.Error("query ids do not come again, or leave others out")
	}
}

func TestHighloadConfig(t *testing.T) {
	t.Parallel()
	client := &ton.Client{}
	for want, config := range map[string]ton.HighloadConfig{
		"needs a Client and a Key": {Key: key},
		"is reserved":              {Client: client, Key: key, Subwallet: ton.ReservedSubwallet},
		"want 6 to 4194303":        {Client: client, Key: key, ValidFor: time.Second},
	} {
		if _, err := ton.NewHighload(config); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
