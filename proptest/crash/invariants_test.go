package crash_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/generated/gc"
	"github.com/fsmgen/fsmgen/generated/publish"
	"github.com/fsmgen/fsmgen/generated/wal"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// Tests that invariants of specs name: what a table alone can't enforce and the
// durable engine does.

var (
	advertiser = deal.ByAdvertiser(7).Caller()
	owner      = deal.ByOwner(8).Caller()
	worker     = wal.ByWorker("w-1").Caller()
)

// Machine wal, one_claim_wins: two concurrent claims never both commit.
func TestTwoClaimsOneCommits(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { twoClaims(sqliteWorld(t)) })
	t.Run("postgres", func(t *testing.T) { twoClaims(postgresWorld(t)) })
}

func twoClaims[Tx any](w *world[Tx]) {
	m := wal.Define[Tx](nil, wal.DefaultParams())
	engines := []*engine.Engine[Tx]{w.engine(m), w.engine(m)}
	for range 20 {
		id := w.id()
		w.discovered(engines[0], id)
		var firings []firing
		for _, e := range engines {
			firings = append(firings, func() (engine.Outcome, error) {
				return e.Fire(w.Context(), "wal", id, wal.Claim{}, engine.Call{By: worker})
			})
		}
		_, errs := race(firings...)
		if n := len(won(w.T, errs)); n != 1 {
			w.Fatalf("%d claims committed", n)
		}
		s, err := engines[1].Get(w.Context(), "wal", id)
		must(w.T, err)
		if r := s.Record.(*wal.Record); r.Attempts != 1 || s.Version != 2 {
			w.Fatalf("%d attempts are counted at version %d", r.Attempts, s.Version)
		}
	}
}

func (w *world[Tx]) discovered(e *engine.Engine[Tx], id string) {
	w.Helper()
	_, err := e.Create(w.Context(), "wal", id, wal.Discover{Dataset: "d", ObjectURI: id, TimeRangeStart: epoch}, engine.Call{By: worker})
	must(w.T, err)
}

// Machine wal, replays_are_bounded: no automatic replay goes beyond
// max_attempts.
func TestReplayStopsAtMaxAttempts(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { replayStops(sqliteWorld(t)) })
	t.Run("postgres", func(t *testing.T) { replayStops(postgresWorld(t)) })
}

func replayStops[Tx any](w *world[Tx]) {
	const most = 3
	m := wal.Define[Tx](nil, wal.Params{MaxAttempts: most, ClaimTimeout: time.Hour})
	engines := []*engine.Engine[Tx]{w.engine(m), w.engine(m)}
	id := w.id()
	w.discovered(engines[0], id)
	replay := func(e *engine.Engine[Tx]) firing {
		return func() (engine.Outcome, error) {
			event := wal.Replay{ReplayAllowed: true, ReplayReason: wal.ReplayCodeIncident}
			return e.Fire(w.Context(), "wal", id, event, engine.Call{By: wal.ByReplayer("r").Caller()})
		}
	}
	for attempt := range int64(most) {
		for _, event := range []fsm.Payload{wal.Claim{}, wal.Fail{Attempt: attempt + 1, LastErrorCode: "e"}} {
			_, err := engines[0].Fire(w.Context(), "wal", id, event, engine.Call{By: worker})
			must(w.T, err)
		}
		// Several replayers at once do not get more out of it.
		_, errs := race(replay(engines[0]), replay(engines[1]), replay(engines[0]), replay(engines[1]))
		want := 1
		if attempt+1 == most {
			want = 0
		}
		if n := len(won(w.T, errs)); n != want {
			w.Fatalf("after attempt %d, %d replays were accepted, want %d", attempt+1, n, want)
		}
		var x *fsm.Rejection
		if want == 0 && (!errors.As(errs[0], &x) || x.Failure != "replay_refused") {
			w.Fatalf("the refusal is %v", errs[0])
		}
	}
	w.in(engines[0], "wal", id, "failed")
}

// Machine outbox, request_path_is_free: the request path does not depend on
// outbox delivery completion.
func TestFireDoesNotWaitForDelivery(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { fireDoesNotWait(sqliteWorld(t)) })
	t.Run("postgres", func(t *testing.T) { fireDoesNotWait(postgresWorld(t)) })
}

func fireDoesNotWait[Tx any](w *world[Tx]) {
	e := w.engine(deal.Define[Tx](nil, deal.DefaultParams()))
	entered, leave := make(chan struct{}), make(chan struct{})
	var first atomic.Bool
	w.handle = func(context.Context, fsm.Dispatch) (*fsm.Event, error) {
		if first.CompareAndSwap(false, true) {
			close(entered)
			<-leave
		}
		return nil, nil
	}
	id := w.id()
	_, err := e.Create(w.Context(), "deal", id, deal.Create{OwnerID: 8, PriceNano: 100}, engine.Call{By: advertiser})
	must(w.T, err)
	delivering := make(chan error, 1)
	go func() {
		_, err := e.Step(w.Context())
		delivering <- err
	}()
	<-entered
	// A consumer that does not return, and messages behind it that no worker
	// takes: events are accepted all the same.
	for _, event := range []fsm.Payload{deal.SubmitOffer{}, deal.Withdraw{}} {
		_, err := e.Fire(w.Context(), "deal", id, event, engine.Call{By: advertiser})
		must(w.T, err)
	}
	w.in(e, "deal", id, "CANCELLED")
	if n := w.count("fsm_outbox WHERE state = 'delivered'"); n != 0 {
		w.Errorf("%d messages were delivered meanwhile", n)
	}
	close(leave)
	must(w.T, <-delivering)
	w.works(e)
	if n := w.count("fsm_outbox WHERE state <> 'delivered'"); n != 0 {
		w.Errorf("%d messages were not delivered in the end", n)
	}
}

// Machine outbox, consumers_are_replayable: consumers are idempotent and safe
// to replay. They have to be: any delivery may come twice, with one key and one
// payload, by which a consumer tells that it is the same.
func TestEveryDeliveryIsRepeated(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { everyDeliveryRepeats(sqliteWorld(t)) })
	t.Run("postgres", func(t *testing.T) { everyDeliveryRepeats(postgresWorld(t)) })
}

func everyDeliveryRepeats[Tx any](w *world[Tx]) {
	m := deal.Define[Tx](nil, deal.DefaultParams())
	// The worker dies whenever it has delivered something for the first time.
	lost := map[string]bool{}
	died := errors.New("the worker died")
	faulty := &faultyStore[Tx]{Store: w.store()}
	die := func(s *store.Settlement) error {
		if s == nil || s.Kind != store.TaskEffect || !s.Renew.IsZero() || lost[s.MessageID] {
			return nil
		}
		lost[s.MessageID] = true
		return died
	}
	faulty.settle = func(s store.Settlement) error { return die(&s) }
	faulty.save = func(commits []store.Commit) error { return die(commits[0].Task) }
	e := w.engineOn(faulty, m)
	id := w.id()
	w.handle = func(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
		if d.Effect == "generate_deposit_address" {
			return fired(deal.AddressReady{DepositAddress: "a"})
		}
		return nil, nil
	}
	_, err := e.Create(w.Context(), "deal", id, deal.Create{OwnerID: 8, PriceNano: 100}, engine.Call{By: advertiser})
	must(w.T, err)
	act := func(event fsm.Payload, by fsm.Caller) {
		_, err := e.Fire(w.Context(), "deal", id, event, engine.Call{By: by})
		must(w.T, err)
		for range 20 {
			w.works(e)
			w.clock.add(lease)
		}
	}
	act(deal.SubmitOffer{}, advertiser)
	act(deal.Accept{}, owner)
	act(deal.DepositConfirmed{TxHash: "t", AmountNano: 150}, system)
	act(deal.SubmitDraft{Creative: `{}`}, owner)
	act(deal.Approve{}, advertiser)

	deliveries := map[string][]fsm.Dispatch{}
	for _, d := range w.seen() {
		deliveries[d.ID] = append(deliveries[d.ID], d)
	}
	classes := map[string]fsm.Delivery{}
	for _, info := range m.Effects() {
		classes[info.Name] = info.Delivery
	}
	counted := map[fsm.Delivery]int{}
	for _, list := range deliveries {
		class, want := classes[list[0].Effect], 2
		if class == fsm.InTransaction || class == fsm.Queryable { // the one can't be lost, the other was asked for
			want = 1
		}
		if len(list) != want {
			w.Errorf("%s (%s) was delivered %d times, want %d", list[0].Effect, class, len(list), want)
		}
		for i, d := range list {
			if d.Attempt != i+1 || string(d.Payload) != string(list[0].Payload) || d.Record != id {
				w.Errorf("delivery %d is %+v, the first one was %+v", i+1, d, list[0])
			}
		}
		counted[class]++
	}
	if counted[fsm.Keyed] < 8 || counted[fsm.Idempotent] < 2 || counted[fsm.Queryable] < 1 || counted[fsm.InTransaction] < 1 {
		w.Errorf("too little was delivered: %v", counted)
	}
	if n := w.count("fsm_outbox WHERE state <> 'delivered'"); n != 0 {
		w.Errorf("%d messages were not delivered in the end", n)
	}
}

// Machine publish, tombstoned_is_auditable: a tombstoned version remains
// auditable.
func TestTombstonedHistoryIsComplete(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { tombstonedHistory(sqliteWorld(t)) })
	t.Run("postgres", func(t *testing.T) { tombstonedHistory(postgresWorld(t)) })
}

func tombstonedHistory[Tx any](w *world[Tx]) {
	e := w.engine(publish.Define[Tx](nil))
	id := w.id()
	_, err := e.Create(w.Context(), "publish", id, publish.Create{}, engine.Call{Correlation: "why"})
	must(w.T, err)
	for _, event := range []fsm.Payload{
		publish.PublishVersion{Policy: publish.PolicyQuarantine, Digest: "q"}, publish.PublishVersion{Policy: publish.PolicyAllow, Digest: "d"},
		publish.TombstoneVersion{Authorized: true, RetentionUntil: fsm.Some(epoch.AddDate(1, 0, 0))},
	} {
		_, err := e.Fire(w.Context(), "publish", id, event, engine.Call{By: fsm.Caller{Role: "curator", ID: "c-1"}, Correlation: "why"})
		must(w.T, err)
	}
	if got := w.called("audit"); got != 3 {
		w.Errorf("%d steps were audited", got)
	}
	complete := func() {
		w.Helper()
		w.in(e, "publish", id, "tombstoned")
		if got, want := w.transitions(e, "publish", id), []string{"create", "quarantine", "publish", "tombstone"}; !slices.Equal(got, want) {
			w.Fatalf("the history tells %v, want %v", got, want)
		}
		rows, err := e.History(w.Context(), "publish", id, 0, 0)
		must(w.T, err)
		for _, r := range rows {
			if r.Correlation != "why" || r.At.IsZero() || len(r.Payload) == 0 || r.Version > 1 && r.By.ID != "c-1" {
				w.Errorf("a row does not tell who, when, what and why: %+v", r)
			}
		}
	}
	complete()
	// It can be neither removed nor rewritten.
	for _, statement := range []string{
		"DELETE FROM publish_history", "DELETE FROM publish_records", "UPDATE publish_history SET event_type = 'x'",
		"UPDATE publish_history SET actor_id = 'x'", "UPDATE publish_records SET manifest_digest = 'x'",
	} {
		if _, err := w.sql.Exec(statement); err == nil {
			w.Errorf("the database lets anybody %s", statement)
		}
	}
	complete()
}

// Machine gc, deletion_is_asynchronous: physical deletion is always
// asynchronous. When the object goes, its row says deleted for all to see.
func TestDeletedRowPrecedesObjectDeletion(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { deletedRowFirst(sqliteWorld(t)) })
	t.Run("postgres", func(t *testing.T) { deletedRowFirst(postgresWorld(t)) })
}

func deletedRowFirst[Tx any](w *world[Tx]) {
	faulty := &faultyStore[Tx]{Store: w.store()}
	e := w.engineOn(faulty, gc.Define[Tx](nil, gc.DefaultParams()))
	id, run := w.id(), fsm.UUID{1}
	_, err := e.Create(w.Context(), "gc", id, gc.Create{Digest: "d"}, engine.Call{})
	must(w.T, err)
	act := func(event fsm.Payload) error {
		_, err := e.Fire(w.Context(), "gc", id, event, engine.Call{})
		return err
	}
	must(w.T, act(gc.DeleteRequest{Authorized: true}))
	w.clock.add(31 * 24 * time.Hour)
	for _, event := range []fsm.Payload{gc.RetentionElapsed{}, gc.GCMarkStarted{Run: run}, gc.GCMarkCompleted{Run: run}} {
		must(w.T, act(event))
	}
	w.handle = func(context.Context, fsm.Dispatch) (*fsm.Event, error) {
		// As another connection sees it: only what is committed.
		var n int
		if err := w.sql.QueryRow("SELECT count(*) FROM gc_records WHERE state = 'deleted'").Scan(&n); err != nil || n != 1 {
			w.Errorf("the object is being deleted, and %d rows say deleted: %v", n, err)
		}
		return nil, nil
	}
	faulty.save = func([]store.Commit) error { return errors.New("the disk is full") }
	if act(gc.GCSweep{Run: run}) == nil {
		w.Fatal("a sweep that could not be stored succeeded")
	}
	faulty.save = nil
	w.works(e)
	if n := w.called("delete_object_blob"); n != 0 {
		w.Fatalf("the object was deleted %d times, and its row stays", n)
	}
	must(w.T, act(gc.GCSweep{Run: run}))
	if n := w.called("delete_object_blob"); n != 0 {
		w.Fatal("the sweep itself deleted the object")
	}
	w.works(e)
	if n := w.called("delete_object_blob"); n != 1 {
		w.Fatalf("the object was deleted %d times", n)
	}
}

// Machine deal, one_deposit_counts_once: a deposit that Kafka delivers twice is
// processed once.
func TestDepositKeyIsUnique(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { depositKey(sqliteWorld(t)) })
	t.Run("postgres", func(t *testing.T) { depositKey(postgresWorld(t)) })
}

func depositKey[Tx any](w *world[Tx]) {
	m := deal.Define[Tx](nil, deal.DefaultParams())
	engines := []*engine.Engine[Tx]{w.engine(m), w.engine(m)}
	first, second := w.awaitingPayment(engines[0]), w.awaitingPayment(engines[0])
	deposit := func(e *engine.Engine[Tx], id, tx string) firing {
		return func() (engine.Outcome, error) {
			return e.Fire(w.Context(), "deal", id, deal.DepositConfirmed{TxHash: tx, AmountNano: 100}, engine.Call{By: system})
		}
	}
	var firings []firing
	for i := range 8 {
		firings = append(firings, deposit(engines[i%2], first, "tx-1"))
	}
	outcomes, errs := race(firings...)
	fresh := 0
	for i, o := range outcomes {
		must(w.T, errs[i]) // with the same key each call succeeds
		if !o.Replayed {
			fresh++
		}
		if o.Version != outcomes[0].Version {
			w.Errorf("one was told version %d, another %d", o.Version, outcomes[0].Version)
		}
	}
	if fresh != 1 {
		w.Errorf("the deposit counted %d times", fresh)
	}
	if got, want := w.transitions(engines[0], "deal", first), []string{"create", "submit_offer", "accept", "address_ready", "fund"}; !slices.Equal(got, want) {
		w.Errorf("the history tells %v, want %v", got, want)
	}
	// It does not pay for another deal, either; another deposit does.
	if _, err := deposit(engines[1], second, "tx-1")(); !errors.Is(err, store.ErrKeyUsed) {
		w.Errorf("the same deposit for another deal: %v", err)
	}
	w.in(engines[1], "deal", second, "AWAITING_PAYMENT")
	_, err := deposit(engines[1], second, "tx-2")()
	must(w.T, err)
	// A second deposit to a funded deal is another one: it goes back.
	_, err = deposit(engines[1], first, "tx-3")()
	must(w.T, err)
	w.works(engines[0])
	if n := w.called("ledger_deposit"); n != 2 {
		w.Errorf("the ledger has %d deposits", n)
	}
	if n := w.called("refund_deposit"); n != 1 {
		w.Errorf("%d deposits were sent back", n)
	}
}

// awaitingPayment makes a deal that waits for 100 nano.
func (w *world[Tx]) awaitingPayment(e *engine.Engine[Tx]) string {
	w.Helper()
	id := w.id()
	_, err := e.Create(w.Context(), "deal", id, deal.Create{OwnerID: 8, PriceNano: 100}, engine.Call{By: advertiser})
	must(w.T, err)
	for _, f := range []engine.Firing{
		{Event: deal.SubmitOffer{}, Call: engine.Call{By: advertiser}}, {Event: deal.Accept{}, Call: engine.Call{By: owner}},
		{Event: deal.AddressReady{DepositAddress: "a-" + id}, Call: engine.Call{By: system}},
	} {
		_, err := e.Fire(w.Context(), "deal", id, f.Event, f.Call)
		must(w.T, err)
	}
	return id
}
