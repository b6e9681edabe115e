package engine_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/generated/upload"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

var (
	advertiser = engine.Call{By: deal.ByAdvertiser(7).Caller()}
	owner      = engine.Call{By: deal.ByOwner(2).Caller()}
)

// offered makes a deal in OFFER_PENDING.
func (s *stage) offered(alias string) string {
	s.t.Helper()
	id := fullID(alias)
	if _, err := s.engine.Create(s.t.Context(), "deal", id, deal.Create{OwnerID: 2, PriceNano: 100}, advertiser); err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.engine.Fire(s.t.Context(), "deal", id, deal.SubmitOffer{}, advertiser); err != nil {
		s.t.Fatal(err)
	}
	return id
}

// wants fails the test unless the record is in this state at this version.
func (s *stage) wants(machine, id, state string, version int64) {
	s.t.Helper()
	found, err := s.engine.Get(s.t.Context(), machine, id)
	if err != nil {
		s.t.Fatal(err)
	}
	if found.Record.StateName() != state || found.Version != version {
		s.t.Errorf("%s %s is in %s at version %d, want %s at %d", machine, alias(id), found.Record.StateName(), found.Version, state, version)
	}
}

// reopen puts a store in the way of the engine.
func (s *stage) reopen(f *faulty) {
	s.t.Helper()
	f.Store = s.store
	var err error
	if s.engine, err = engine.New[*sql.Tx](f, s.config, s.machines()...); err != nil {
		s.t.Fatal(err)
	}
}

func TestFireTxCommitsWithTheCaller(t *testing.T) {
	s := newStage(t)
	id := s.offered("1")
	ctx := t.Context()
	regret := errors.New("the caller thinks better of it")
	err := s.store.InTx(ctx, func(tx *sql.Tx) error {
		if _, err := s.engine.FireTx(ctx, tx, "deal", id, deal.Accept{}, owner); err != nil {
			return err
		}
		return regret
	})
	if !errors.Is(err, regret) {
		t.Fatal(err)
	}
	s.wants("deal", id, "OFFER_PENDING", 2)

	var o engine.Outcome
	err = s.store.InTx(ctx, func(tx *sql.Tx) (err error) {
		if _, err = tx.ExecContext(ctx, "CREATE TABLE mine (x integer)"); err != nil {
			return err
		}
		o, err = s.engine.FireTx(ctx, tx, "deal", id, deal.Accept{}, owner)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	s.engine.Committed(ctx, o)
	s.wants("deal", id, "ACCEPTED", 3)
	if err := s.store.InTx(ctx, func(tx *sql.Tx) error { _, err := tx.Exec("DROP TABLE mine"); return err }); err != nil {
		t.Errorf("the caller's own write is not there: %v", err)
	}
}

// TestHandlerThatFiresInsideATransaction is the bug of libraries that call user
// code under a lock: it deadlocks when that code fires an event.
func TestHandlerThatFiresInsideATransaction(t *testing.T) {
	s := newStage(t)
	id := s.offered("1")
	s.run(`create upload 2 create {"expected_digest":"d","expected_length":3,"expires_at":"2026-02-01T00:00:00Z"}`)
	s.run(`fire upload 2 start_parts_upload {"session_valid":true}`)
	s.run(`fire upload 2 complete_parts {"missing_parts":0}`)
	nested := nesting{t: t, stage: s, deal: id}
	var err error
	if s.engine, err = engine.New[*sql.Tx](s.store, s.config, deal.Define[*sql.Tx](nil, deal.DefaultParams()), upload.Define[*sql.Tx](&nested)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.engine.Fire(t.Context(), "upload", fullID("2"), upload.CommitUpload{Digest: "d", Length: 3}, engine.Call{}); err != nil {
		t.Fatal(err)
	}
	if nested.refused == nil || !strings.Contains(nested.refused.Error(), "FireTx") {
		t.Errorf("Fire inside a transaction says %v", nested.refused)
	}
	s.wants("upload", fullID("2"), "committed", 4)
	s.wants("deal", id, "ACCEPTED", 3)
}

// nesting fires from within a transaction.
type nesting struct {
	upload.Handlers[*sql.Tx]
	t       *testing.T
	stage   *stage
	deal    string
	refused error
}

func (n *nesting) InsertBlobRow(ctx context.Context, tx *sql.Tx, _ fsm.Dispatch, _ upload.InsertBlobRowEffect) error {
	_, n.refused = n.stage.engine.Fire(ctx, "deal", n.deal, deal.Accept{}, owner)
	_, err := n.stage.engine.FireTx(ctx, tx, "deal", n.deal, deal.Accept{}, owner)
	return err
}

func TestConflictSaysWhatIsThereNow(t *testing.T) {
	s := newStage(t)
	id := s.offered("1")
	var f faulty
	f.save = func(ctx context.Context, tx *sql.Tx) error {
		f.save = nil
		// Another writer is first, between what was read and what is written.
		_, err := s.engine.FireTx(ctx, tx, "deal", id, deal.CounterOffer{PriceNano: 90}, owner)
		return err
	}
	s.reopen(&f)
	_, err := s.engine.Fire(t.Context(), "deal", id, deal.Accept{}, owner)
	var conflict *engine.ConflictError
	if !errors.As(err, &conflict) || !errors.Is(err, engine.ErrConflict) {
		t.Fatalf("got %v", err)
	}
	if want := (engine.ConflictError{Machine: "deal", ID: id, Expected: 2, Version: 3, State: "NEGOTIATING"}); *conflict != want {
		t.Errorf("got %+v, want %+v", *conflict, want)
	}
	s.wants("deal", id, "OFFER_PENDING", 2)
}

// TestWorkerFiresAgainAfterConflict: a caller decides for itself, an answer and a
// deadline must not get lost.
func TestWorkerFiresAgainAfterConflict(t *testing.T) {
	s := newStage(t)
	id := s.offered("1")
	conflicts := 0
	again := func() error { conflicts++; return &engine.ConflictError{Machine: "deal", ID: id, Expected: 2} }
	f := faulty{}
	twice := times(2, again)
	f.save = func(context.Context, *sql.Tx) error { return twice() }
	s.reopen(&f)
	s.run("tick 48h")
	s.run("step")
	s.wants("deal", id, "EXPIRED", 3)
	if conflicts != 2 {
		t.Errorf("%d conflicts", conflicts)
	}
}

// TestLostReplyIsReplayed: the connection breaks while the commit is under way,
// so the caller does not know; the same key answers.
func TestLostReplyIsReplayed(t *testing.T) {
	s := newStage(t)
	id := s.offered("1")
	call := owner
	call.IdempotencyKey = "k"
	first, err := s.engine.Fire(t.Context(), "deal", id, deal.Accept{}, call)
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.engine.Fire(t.Context(), "deal", id, deal.Accept{}, call)
	if err != nil || !again.Replayed || again.Version != first.Version || len(again.Steps) != 0 {
		t.Errorf("got %+v, %v", again, err)
	}
	s.wants("deal", id, "ACCEPTED", 3)
}

func TestFireBatch(t *testing.T) {
	s := newStage(t)
	s.config.Batch = 3
	s.reopen(&faulty{})
	var batch []engine.Firing
	for n := range 5 {
		id := s.offered(fmt.Sprint(n + 1))
		batch = append(batch, engine.Firing{Machine: "deal", ID: id, Event: deal.CounterOffer{PriceNano: 90}, Call: owner})
	}
	batch = append(batch,
		engine.Firing{Machine: "deal", ID: fullID("1"), Event: deal.Agree{}, Call: advertiser}, // after its counter-offer
		engine.Firing{Machine: "deal", ID: fullID("2"), Event: deal.Accept{}, Call: owner},     // too late
		engine.Firing{Machine: "deal", ID: fullID("9"), Event: deal.Accept{}, Call: owner},     // no such deal
		engine.Firing{Machine: "cake", ID: "x", Event: deal.Accept{}},
	)
	outcomes, err := s.engine.FireBatch(t.Context(), batch)
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range outcomes[:6] {
		if o.Err != nil {
			t.Errorf("firing %d: %v", i, o.Err)
		}
	}
	if !errors.Is(outcomes[6].Err, fsm.ErrInvalidTransition) || !errors.Is(outcomes[7].Err, engine.ErrNotFound) || outcomes[8].Err == nil {
		t.Errorf("refusals are %v, %v, %v", outcomes[6].Err, outcomes[7].Err, outcomes[8].Err)
	}
	s.wants("deal", fullID("1"), "ACCEPTED", 4)
	s.wants("deal", fullID("2"), "NEGOTIATING", 3)
}

// TestFireBatchAfterAConflict: what undid a round undoes only its own event.
func TestFireBatchAfterAConflict(t *testing.T) {
	s := newStage(t)
	one, two := s.offered("1"), s.offered("2")
	f := faulty{}
	once := times(1, func() error { return &engine.ConflictError{Machine: "deal", ID: one} })
	f.save = func(context.Context, *sql.Tx) error { return once() }
	s.reopen(&f)
	outcomes, err := s.engine.FireBatch(t.Context(), []engine.Firing{
		{Machine: "deal", ID: one, Event: deal.Accept{}, Call: owner}, {Machine: "deal", ID: two, Event: deal.Accept{}, Call: owner},
	})
	if err != nil || outcomes[0].Err != nil || outcomes[1].Err != nil {
		t.Fatalf("%v: %v, %v", err, outcomes[0].Err, outcomes[1].Err)
	}
	s.wants("deal", one, "ACCEPTED", 3)
	s.wants("deal", two, "ACCEPTED", 3)
}

// TestFireBatchSurvivesAPanic: it is the outcome of its own round.
func TestFireBatchSurvivesAPanic(t *testing.T) {
	s := newStage(t)
	s.config.Batch = 1
	one, two := s.offered("1"), s.offered("2")
	once := times(1, func() error { panic("the store") })
	s.reopen(&faulty{save: func(context.Context, *sql.Tx) error { return once() }})
	outcomes, err := s.engine.FireBatch(t.Context(), []engine.Firing{
		{Machine: "deal", ID: one, Event: deal.Accept{}, Call: owner}, {Machine: "deal", ID: two, Event: deal.Accept{}, Call: owner},
	})
	if err != nil {
		t.Fatal(err)
	}
	if outcomes[0].Err == nil {
		outcomes[0], outcomes[1] = outcomes[1], outcomes[0]
	}
	var panicked *engine.PanicError
	if !errors.As(outcomes[0].Err, &panicked) || outcomes[1].Err != nil || outcomes[1].Version != 3 {
		t.Errorf("got %v and %+v", outcomes[0].Err, outcomes[1])
	}
}

// TestFireBatchOfUnknownOutcome: a commit that failed may have succeeded. Without
// a key nothing is fired again, or one event would count twice.
func TestFireBatchOfUnknownOutcome(t *testing.T) {
	s := newStage(t)
	id := s.offered("1")
	var err error
	if s.engine, err = engine.New[*sql.Tx](deaf{s.store}, s.config, s.machines()...); err != nil {
		t.Fatal(err)
	}
	outcomes, err := s.engine.FireBatch(t.Context(), []engine.Firing{{Machine: "deal", ID: id, Event: deal.CounterOffer{PriceNano: 90}, Call: owner}})
	if err != nil || !errors.Is(outcomes[0].Err, engine.ErrStore) {
		t.Errorf("the caller is told %v, %v", outcomes[0].Err, err)
	}
	s.wants("deal", id, "NEGOTIATING", 3)
}

// deaf does not hear that a transaction was committed.
type deaf struct{ engine.Store[*sql.Tx] }

func (d deaf) InTx(ctx context.Context, f func(*sql.Tx) error) error {
	if err := d.Store.InTx(ctx, f); err != nil {
		return err
	}
	return store.Failed("commit", errors.New("connection lost"))
}

func TestOversizedPayload(t *testing.T) {
	s := newStage(t)
	s.config.MaxPayload = 100
	s.reopen(&faulty{})
	_, err := s.engine.Create(t.Context(), "upload", fullID("1"), upload.Create{ExpectedDigest: strings.Repeat("d", 200)}, engine.Call{})
	var x *fsm.Rejection
	if !errors.As(err, &x) || x.Reason != fsm.ErrInvalidEvent || x.Field != "payload" {
		t.Errorf("got %v", err)
	}
}

// TestOversizedKey is refused before the store is asked, for a call and for the key
// that an event has of its own.
func TestOversizedKey(t *testing.T) {
	s := newStage(t)
	const longest = 1024
	for _, tt := range []struct {
		bytes   int
		refused bool
	}{{longest, false}, {longest + 1, true}} {
		call := engine.Call{By: advertiser.By, IdempotencyKey: strings.Repeat("k", tt.bytes)}
		_, err := s.engine.Create(t.Context(), "deal", fullID(fmt.Sprint(tt.bytes)), deal.Create{OwnerID: 2, PriceNano: 100}, call)
		var x *fsm.Rejection
		if refused := errors.As(err, &x) && strings.Contains(err.Error(), "1024"); refused != tt.refused || err != nil && !refused {
			t.Errorf("a key of %d bytes: %v", tt.bytes, err)
		}
	}
}

// loud logs at a level of another version of the language.
type loud struct{ engine.Machine[*sql.Tx] }

func (m loud) Effects() []fsm.EffectInfo {
	list := slices.Clone(m.Machine.Effects())
	for i := range list {
		if list[i].Kind == fsm.EffectLog {
			list[i].Level = "LOUD"
		}
	}
	return list
}

// broadcasting is a machine with a delivery class that this engine does not know.
type broadcasting struct{ engine.Machine[*sql.Tx] }

func (m broadcasting) Effects() []fsm.EffectInfo {
	list := slices.Clone(m.Machine.Effects())
	for i := range list {
		if list[i].Kind == fsm.EffectCall {
			list[i].Delivery = "no such class"
		}
	}
	return list
}

func TestNewExplainsWhatIsWrong(t *testing.T) {
	s := newStage(t)
	m := s.machines()
	for want, attempt := range map[string]func() error{
		"given twice":    func() error { _, err := engine.New[*sql.Tx](s.store, engine.Config{}, m[0], m[0]); return err },
		"starts machine": func() error { _, err := engine.New[*sql.Tx](s.store, engine.Config{}, m[1]); return err },
		"store is nil":   func() error { _, err := engine.New[*sql.Tx](nil, engine.Config{}, m[0]); return err },
		`level "LOUD"`: func() error {
			_, err := engine.New[*sql.Tx](s.store, engine.Config{}, loud{registration.Define[*sql.Tx](nil, registration.DefaultParams())})
			return err
		},
		`delivery class "no such class"`: func() error {
			_, err := engine.New[*sql.Tx](s.store, engine.Config{}, broadcasting{registration.Define[*sql.Tx](nil, registration.DefaultParams())})
			return err
		},
		"Batch must not be": func() error { _, err := engine.New[*sql.Tx](s.store, engine.Config{Batch: -1}, m[0]); return err },
	} {
		if err := attempt(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
