package crash_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/generated/upload"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// Handlers, callers and clocks that do not do their part. It concerns their own
// records, and the others go on.

// TestHandlerThatPanicsOrHangs: a handler that panics or hangs costs its own message an
// attempt. In the end that message is a dead letter of its record. The others are
// delivered.
func TestHandlerThatPanicsOrHangs(t *testing.T) {
	t.Run("panics, sqlite", func(t *testing.T) { badHandler(sqliteWorld(t), false) })
	t.Run("panics, postgres", func(t *testing.T) { badHandler(postgresWorld(t), false) })
	t.Run("hangs, sqlite", func(t *testing.T) { badHandler(sqliteWorld(t), true) })
	t.Run("hangs, postgres", func(t *testing.T) { badHandler(postgresWorld(t), true) })
}

func badHandler[Tx any](w *world[Tx], hangs bool) {
	over := make(chan struct{})
	defer close(over)
	var bad string
	var mended atomic.Bool
	w.patience = 5 * time.Millisecond
	w.handle = func(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
		switch {
		case d.Effect != "notify_owner" || mended.Load() || d.Record != bad:
		case hangs:
			<-over // whatever its context says
		default:
			panic("at the disco")
		}
		return nil, nil
	}
	e := w.engine(deal.Define[Tx](nil, deal.DefaultParams()))
	bad = w.offered(e)
	good := w.offered(e)
	for range 12 { // as often as it may be repeated
		w.works(e)
		w.clock.add(6 * time.Minute)
	}
	letters, err := e.DeadLetters(w.Context(), store.Filter{}, "", 0)
	must(w.T, err)
	cause := "panic: at the disco"
	if hangs {
		cause = "the handler did not return"
	}
	if len(letters) != 1 || letters[0].RecordID != bad || letters[0].Effect != "notify_owner" || !strings.Contains(letters[0].LastError, cause) {
		w.Fatalf("the dead letters are %+v", letters)
	}
	if !w.logs.line("effect failed", bad, "attempt=1", cause) {
		w.Error("no line of the log names the record")
	}
	if n := w.count("fsm_outbox WHERE state <> 'delivered'"); n != 1 {
		w.Errorf("%d messages are not delivered", n)
	}
	w.in(e, "deal", good, "OFFER_PENDING")
	mended.Store(true)
	must(w.T, e.Requeue(w.Context(), letters[0].MessageID, "operator", "the handler is repaired"))
	w.works(e)
	if n := w.count("fsm_outbox WHERE state <> 'delivered'"); n != 0 {
		w.Errorf("%d messages are not delivered after all", n)
	}
}

// TestHandlerThatPanicsInATransaction: the event is refused, and nothing of it is stored.
func TestHandlerThatPanicsInATransaction(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { panicInTx(sqliteWorld(t)) })
	t.Run("postgres", func(t *testing.T) { panicInTx(postgresWorld(t)) })
}

func panicInTx[Tx any](w *world[Tx]) {
	e := w.engine(deal.Define[Tx](nil, deal.DefaultParams()))
	bad, good := w.awaitingPayment(e), w.awaitingPayment(e)
	w.inTx = func(_ context.Context, _ Tx, d fsm.Dispatch) error {
		if d.Record == bad {
			panic("at the disco")
		}
		return nil
	}
	pay := func(id string) error {
		_, err := e.Fire(w.Context(), "deal", id, deal.DepositConfirmed{TxHash: id, AmountNano: 100}, engine.Call{By: system, IdempotencyKey: id})
		return err
	}
	before := w.count("deal_events") + w.count("fsm_outbox") + w.count("fsm_keys")
	err := pay(bad)
	var handler *engine.HandlerError
	var panicked *engine.PanicError
	if !errors.As(err, &handler) || !errors.As(err, &panicked) || handler.ID != bad || handler.Effect != "ledger_deposit" {
		w.Errorf("the error is %v", err)
	}
	if after := w.count("deal_events") + w.count("fsm_outbox") + w.count("fsm_keys"); after != before {
		w.Errorf("%d rows were left", after-before)
	}
	must(w.T, pay(good))
	w.in(e, "deal", bad, "AWAITING_PAYMENT")
	w.in(e, "deal", good, "FUNDED")
	bad, id := "", bad
	must(w.T, pay(id))
	w.in(e, "deal", id, "FUNDED")
}

// TestHandlerThatFiresInATransaction: a call with the handler's context is refused, since
// it would wait for its own transaction. The event of the handler is stored.
func TestHandlerThatFiresInATransaction(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { firesInTx(sqliteWorld(t)) })
	t.Run("postgres", func(t *testing.T) { firesInTx(postgresWorld(t)) })
}

func firesInTx[Tx any](w *world[Tx]) {
	e := w.engine(deal.Define[Tx](nil, deal.DefaultParams()))
	id, other := w.awaitingPayment(e), w.offered(e)
	w.inTx = func(ctx context.Context, _ Tx, _ fsm.Dispatch) error {
		if _, err := e.Fire(ctx, "deal", other, deal.Accept{}, engine.Call{By: owner}); !errors.Is(err, engine.ErrNested) {
			w.Errorf("the call inside says %v", err)
		}
		return nil
	}
	_, err := e.Fire(w.Context(), "deal", id, deal.DepositConfirmed{TxHash: id, AmountNano: 100}, engine.Call{By: system, IdempotencyKey: id})
	must(w.T, err)
	w.in(e, "deal", id, "FUNDED")
	w.in(e, "deal", other, "OFFER_PENDING")
}

// TestClockThatJumpsBack: a deadline that was due when it was claimed is not refused as
// too early. Everything else happens when the clock is there again.
func TestClockThatJumpsBack(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { jumpBack(sqliteWorld(t)) })
	t.Run("postgres", func(t *testing.T) { jumpBack(postgresWorld(t)) })
}

func jumpBack[Tx any](w *world[Tx]) {
	m := upload.Define[Tx](nil)
	jumps := &faultyStore[Tx]{Store: w.store()}
	e := w.engineOn(jumps, m)
	session := func() string {
		id := w.id()
		_, err := e.Create(w.Context(), "upload", id, upload.Create{ExpiresAt: w.clock.Now().Add(time.Hour), ExpectedDigest: "d", ExpectedLength: 9}, engine.Call{})
		must(w.T, err)
		return id
	}
	claimed := session()
	w.clock.add(time.Hour)
	jumps.claimed = func([]store.Task) {
		jumps.claimed = nil
		w.clock.add(-30 * time.Minute)
	}
	w.works(e)
	w.in(e, "upload", claimed, "aborted")

	// A lease and a message of the time that is to come again.
	late := session()
	_, err := e.Fire(w.Context(), "upload", late, upload.StartPartsUpload{SessionValid: true}, engine.Call{})
	must(w.T, err)
	w.handle = func(context.Context, fsm.Dispatch) (*fsm.Event, error) { return nil, errors.New("not now") }
	w.works(e)
	w.clock.add(-12 * time.Hour)
	w.handle = nil
	w.works(e)
	// The record itself takes events, in the order of its versions.
	_, err = e.Fire(w.Context(), "upload", late, upload.CompleteParts{}, engine.Call{})
	must(w.T, err)
	if got, want := w.transitions(e, "upload", late), []string{"create", "start", "parts_done"}; !slices.Equal(got, want) {
		w.Errorf("the history tells %v, want %v", got, want)
	}
	w.clock.add(14 * time.Hour)
	w.works(e)
	w.in(e, "upload", late, "aborted")
	if n := w.count("fsm_outbox WHERE state <> 'delivered'"); n != 0 {
		w.Errorf("%d messages are not delivered", n)
	}
	if n := w.count("fsm_deadlines"); n != 0 {
		w.Errorf("%d deadlines are left", n)
	}
}

// TestOversizedPayload: an event that is too large is refused. An answer that is too
// large makes a dead letter of its record.
func TestOversizedPayload(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { oversized(sqliteWorld(t)) })
	t.Run("postgres", func(t *testing.T) { oversized(postgresWorld(t)) })
}

func oversized[Tx any](w *world[Tx]) {
	e := w.engine(deal.Define[Tx](nil, deal.DefaultParams()))
	huge := strings.Repeat("x", 1<<17)
	id, other := w.offered(e), w.offered(e)
	_, err := e.Fire(w.Context(), "deal", id, deal.Dispute{Complaint: huge}, engine.Call{By: advertiser, IdempotencyKey: "k"})
	var x *fsm.Rejection
	if !errors.As(err, &x) || !errors.Is(err, fsm.ErrInvalidEvent) || x.Field != "payload" || !contains(err, id) {
		w.Errorf("the error is %v", err)
	}
	w.handle = func(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
		switch {
		case d.Effect != "generate_deposit_address":
			return nil, nil
		case d.Record == id:
			return fired(deal.AddressReady{DepositAddress: huge})
		}
		return fired(deal.AddressReady{DepositAddress: d.Record})
	}
	for _, id := range []string{id, other} {
		_, err := e.Fire(w.Context(), "deal", id, deal.Accept{}, engine.Call{By: owner})
		must(w.T, err)
	}
	for range 12 { // as often as it may be repeated
		w.works(e)
		w.clock.add(6 * time.Minute)
	}
	w.in(e, "deal", other, "AWAITING_PAYMENT")
	w.in(e, "deal", id, "ACCEPTED")
	letters, err := e.DeadLetters(w.Context(), store.Filter{}, "", 0)
	must(w.T, err)
	if len(letters) != 1 || letters[0].RecordID != id || !strings.Contains(letters[0].LastError, "payload") {
		w.Fatalf("the dead letters are %+v", letters)
	}
	huge = "short"
	must(w.T, e.Requeue(w.Context(), letters[0].MessageID, "operator", "it is shorter now"))
	w.works(e)
	w.in(e, "deal", id, "AWAITING_PAYMENT")
}
