package ton

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/xssnick/tonutils-go/liteclient"
	"github.com/xssnick/tonutils-go/tlb"
	"github.com/xssnick/tonutils-go/ton"
	"github.com/xssnick/tonutils-go/tvm/cell"
)

// transaction returns one that a message caused.
func transaction(message tlb.AnyMessage, kind tlb.MsgType, description any) *tlb.Transaction {
	tx := &tlb.Transaction{LT: 7, Hash: make([]byte, 32), Description: description}
	if message != nil {
		tx.IO.In = &tlb.Message{MsgType: kind, Msg: message}
	}
	return tx
}

func bounced(phase any) tlb.TransactionDescriptionOrdinary {
	return tlb.TransactionDescriptionOrdinary{Aborted: true, BouncePhase: &tlb.BouncePhase{Phase: phase}}
}

// TestDeposited: what is credited is decided by the message and the bounce phase, never by aborted.
func TestDeposited(t *testing.T) {
	t.Parallel()
	paid := func(nano int64) *tlb.InternalMessage {
		return &tlb.InternalMessage{Amount: tlb.FromNanoTON(big.NewInt(nano))}
	}
	huge := &tlb.InternalMessage{Amount: tlb.FromNanoTON(new(big.Int).Lsh(big.NewInt(1), 64))}
	back := paid(5)
	back.Bounced = true
	plain := tlb.TransactionDescriptionOrdinary{}
	for name, tt := range map[string]struct {
		tx      *tlb.Transaction
		nano    uint64
		credits bool
		fails   bool
	}{
		"a payment":              {tx: transaction(paid(5), tlb.MsgTypeInternal, plain), nano: 5, credits: true},
		"aborted":                {tx: transaction(paid(5), tlb.MsgTypeInternal, tlb.TransactionDescriptionOrdinary{Aborted: true}), nano: 5, credits: true},
		"no money to bounce":     {tx: transaction(paid(5), tlb.MsgTypeInternal, bounced(tlb.BouncePhaseNoFunds{})), nano: 5, credits: true},
		"bounce ate the money":   {tx: transaction(paid(5), tlb.MsgTypeInternal, bounced(tlb.BouncePhaseNegFunds{})), nano: 5, credits: true},
		"bounces":                {tx: transaction(paid(5), tlb.MsgTypeInternal, bounced(tlb.BouncePhaseOk{}))},
		"came back":              {tx: transaction(back, tlb.MsgTypeInternal, plain)},
		"no money":               {tx: transaction(paid(0), tlb.MsgTypeInternal, plain)},
		"external":               {tx: transaction(&tlb.ExternalMessage{}, tlb.MsgTypeExternalIn, plain)},
		"no message":             {tx: transaction(nil, "", plain)},
		"a tick":                 {tx: transaction(paid(5), tlb.MsgTypeInternal, tlb.TransactionDescriptionTickTock{})},
		"more than there can be": {tx: transaction(huge, tlb.MsgTypeInternal, plain), fails: true},
	} {
		d, ok, err := deposited(Address{}, tt.tx)
		if ok != tt.credits || (err != nil) != tt.fails || d.Nano != tt.nano {
			t.Errorf("%s: %+v, %v, %v", name, d, ok, err)
		}
	}
}

// TestAbsent: a transfer that is not in the chain is displaced by the seqno, and expired by the time.
func TestAbsent(t *testing.T) {
	t.Parallel()
	until := time.Unix(1000, 0)
	s := Signed{Seqno: 5, ValidUntil: until}
	for _, tt := range []struct {
		seqno uint32
		now   time.Time
		want  State
	}{
		{5, until, Unknown}, {5, until.Add(time.Second), Expired}, {6, until.Add(-time.Hour), Displaced}, {6, until.Add(time.Hour), Displaced},
		{4, until, Unknown}, {4, until.Add(time.Second), Expired},
	} {
		if got := absent(s, tt.seqno, tt.now); got != tt.want {
			t.Errorf("seqno %d at %s: %v, want %v", tt.seqno, tt.now, got, tt.want)
		}
	}
}

// TestQuotes: a bounced message is known by the first 256 bits of the body that it quotes.
func TestQuotes(t *testing.T) {
	t.Parallel()
	body := func(text string) *cell.Cell {
		b, err := Transfer{Comment: text}.body()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	quote := func(c *cell.Cell) *cell.Cell {
		s := c.MustBeginParse()
		bits := min(s.BitsLeft(), 256)
		return cell.BeginCell().MustStoreUInt(0xffffffff, 32).MustStoreSlice(s.MustLoadSlice(bits), bits).EndCell()
	}
	long := strings.Repeat("x", 28)
	for name, tt := range map[string]struct {
		bounced, body *cell.Cell
		want          bool
	}{
		"the same":             {quote(body("deal 1")), body("deal 1"), true},
		"another":              {quote(body("deal 2")), body("deal 1"), false},
		"a longer one":         {quote(body("deal 11")), body("deal 1"), true}, // so let them differ in more than the length
		"the first 28 bytes":   {quote(body(long + "1")), body(long + "2"), true},
		"none":                 {quote(body("")), body(""), true},
		"a message without it": {body("deal 1"), body("deal 1"), false},
		"no body":              {nil, body("deal 1"), false},
		"a short body":         {cell.BeginCell().EndCell(), nil, false},
	} {
		if got := quotes(tt.bounced, tt.body); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestStoredTransfer: what an application has stored is read again, and has the same bytes.
func TestStoredTransfer(t *testing.T) {
	t.Parallel()
	const stored = `{"To":"0:6f776e6572000000000000000000000000000000000000000000000000000000","Nano":5,"Bounce":false,"Comment":"deal 1",` +
		`"From":"0:0100000000000000000000000000000000000000000000000000000000000000","BOC":"dGhlIG1lc3NhZ2U=",` +
		`"BodyHash":"0200000000000000000000000000000000000000000000000000000000000000","Seqno":7,"ValidUntil":"2026-09-21T14:13:20Z",` +
		`"Since":{"LT":9,"Hash":"0300000000000000000000000000000000000000000000000000000000000000"}}`
	var s Signed
	if err := json.Unmarshal([]byte(stored), &s); err != nil {
		t.Fatal(err)
	}
	if s.Nano != 5 || string(s.BOC) != "the message" || s.BodyHash != (Hash{2}) || s.Since != (Cursor{LT: 9, Hash: Hash{3}}) || s.From != (Address{Hash: [32]byte{1}}) {
		t.Errorf("read %+v", s)
	}
	if again, err := json.Marshal(s); err != nil || string(again) != stored {
		t.Errorf("stored again it is %s, %v", again, err)
	}
	for _, bad := range []string{`{"BodyHash":"02"}`, `{"BodyHash":"` + strings.Repeat("z", 64) + `"}`} {
		if err := json.Unmarshal([]byte(bad), &s); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}

// TestKinds: each error of the client is of one kind, and that of a context of none.
func TestKinds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ err, want error }{
		{nil, nil},
		{context.Canceled, nil},
		{fmt.Errorf("wrapped: %w", context.DeadlineExceeded), nil},
		{ton.LSError{Code: 651}, ErrNotSynchronised}, {ton.LSError{Code: 652}, ErrNotSynchronised}, {ton.LSError{Code: -400}, ErrNotSynchronised},
		{ton.LSError{Code: 228}, ErrUnreachable}, {ton.LSError{Code: 429}, ErrUnreachable},
		{ton.LSError{Code: 0}, ErrRefused}, {ton.LSError{Code: -1}, ErrRefused},
		{fmt.Errorf("pick: %w", liteclient.ErrNoNodesLeft), ErrNotSynchronised},
		{errors.New("incorrect proof"), ErrProof},
	} {
		err := classify("ask", tt.err)
		for _, kind := range []error{ErrUnreachable, ErrNotSynchronised, ErrProof, ErrRefused} {
			if errors.Is(err, kind) != errors.Is(tt.want, kind) {
				t.Errorf("%v is %v", tt.err, err)
			}
		}
		if tt.err != nil && !errors.Is(err, tt.err) {
			t.Errorf("%v is lost in %v", tt.err, err)
		}
	}
}

// FuzzComment: whatever a stranger writes in a body, a comment is text that a database and a page can
// hold.
func FuzzComment(f *testing.F) {
	for _, body := range []*cell.Cell{
		cell.BeginCell().EndCell(),
		cell.BeginCell().MustStoreUInt(0, 32).MustStoreStringSnake("deal 7").EndCell(),
		cell.BeginCell().MustStoreUInt(0, 32).MustStoreStringSnake(strings.Repeat("long ", 100)).EndCell(),
		cell.BeginCell().MustStoreUInt(0, 32).MustStoreSlice([]byte{0xff, 0}, 16).EndCell(),
	} {
		f.Add(body.ToBOC())
	}
	f.Fuzz(func(t *testing.T, boc []byte) {
		bodies := []*cell.Cell{cell.BeginCell().MustStoreUInt(0, 32).MustStoreBinarySnake(boc).EndCell()}
		if parsed, err := cell.FromBOC(boc); err == nil {
			bodies = append(bodies, parsed)
		}
		for _, body := range bodies {
			text := comment(body)
			if !utf8.ValidString(text) || len(text) > maxComment || strings.ContainsRune(text, 0) {
				t.Errorf("%q", text)
			}
		}
		if got := comment(bodies[0]); got != "" && got != string(boc) {
			t.Errorf("%q is read as %q", boc, got)
		}
	})
}
