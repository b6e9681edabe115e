package crash_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/generated/gc"
	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// The bugs that other libraries of the field have or had, each as a test.

// Bug 1: a library kept what it had done outside of the loop over runs, and
// after a restart the second of two active runs skipped its unfinished step.
func TestRestartResumesEveryActiveRun(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { restartResumes(sqliteWorld(t)) })
	t.Run("postgres", func(t *testing.T) { restartResumes(postgresWorld(t)) })
}

func restartResumes[Tx any](w *world[Tx]) {
	m := registration.Define[Tx](nil, registration.Params{ValidatingTimeout: time.Hour, RegisteringPostgresTimeout: time.Hour, RegisteringConsulTimeout: time.Hour, DeregisteringTimeout: time.Hour})
	// The first process dies while both runs are being validated.
	died := errors.New("the process died")
	faulty := &faultyStore[Tx]{Store: w.store(), save: func(commits []store.Commit) error {
		if commits[0].Task != nil {
			return died
		}
		return nil
	}}
	first := w.engineOn(faulty, m)
	ids := []string{w.registering(first), w.registering(first), w.registering(first)}
	w.handle = func(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
		switch d.Effect {
		case "validate_payload":
			return fired(registration.ValidationPassed{ValidationResult: registration.ValidationOutcomePassed})
		case "postgres.upsert_registration":
			return fired(registration.PostgresSucceeded{PostgresApplied: true})
		}
		return fired(registration.ConsulSucceeded{ConsulApplied: true})
	}
	w.works(first)
	w.clock.add(lease)
	second := w.engine(m)
	w.works(second)
	for _, id := range ids {
		w.in(second, "registration", id, "registered")
	}
	if n := w.called("validate_payload"); n != 2*len(ids) {
		w.Errorf("the unfinished step was called %d times, want %d", n, 2*len(ids))
	}
}

// Bug 2: a library appended the same step twice as a silent no-op: two workers
// fired ship and refund on one order, both were told "ok", both effects ran.
func TestTwoEventsOfOneStateDoNotBothHappen(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { oneOfTwoEvents(sqliteWorld(t)) })
	t.Run("postgres", func(t *testing.T) { oneOfTwoEvents(postgresWorld(t)) })
}

func oneOfTwoEvents[Tx any](w *world[Tx]) {
	const rounds = 15
	m := deal.Define[Tx](nil, deal.DefaultParams())
	engines := []*engine.Engine[Tx]{w.engine(m), w.engine(m)}
	approved := 0
	for range rounds {
		id := w.awaitingPayment(engines[0])
		for _, f := range []engine.Firing{
			{Event: deal.DepositConfirmed{TxHash: id, AmountNano: 100}, Call: engine.Call{By: system}},
			{Event: deal.SubmitDraft{Creative: `{}`}, Call: engine.Call{By: owner}},
		} {
			_, err := engines[0].Fire(w.Context(), "deal", id, f.Event, f.Call)
			must(w.T, err)
		}
		fire := func(i int, event fsm.Payload) firing {
			return func() (engine.Outcome, error) {
				return engines[i].Fire(w.Context(), "deal", id, event, engine.Call{By: advertiser})
			}
		}
		_, errs := race(fire(0, deal.Approve{}), fire(1, deal.Dispute{Complaint: "no"}))
		winners := won(w.T, errs)
		if len(winners) != 1 {
			w.Fatalf("%d of the two were told that it happened", len(winners))
		}
		want := "DISPUTED"
		if winners[0] == 0 {
			want = "CREATIVE_APPROVED"
			approved++
		}
		w.in(engines[1], "deal", id, want)
	}
	w.works(engines[0])
	if got := w.called("enable_publishing"); got != approved {
		w.Errorf("%d deals were approved and %d published", approved, got)
	}
	if got := w.count("deal_events WHERE transition = 'dispute_quality'"); got != rounds-approved {
		w.Errorf("%d of %d deals were disputed, %d of them approved", got, rounds, approved)
	}
}

// Bug 3: a library reads the version and then updates by id alone.
func TestAStaleVersionWritesNothing(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { staleVersion(sqliteWorld(t)) })
	t.Run("postgres", func(t *testing.T) { staleVersion(postgresWorld(t)) })
}

func staleVersion[Tx any](w *world[Tx]) {
	m := gc.Define[Tx](nil, gc.DefaultParams())
	// What the first writer would store is held back until others have written.
	held := errors.New("held back")
	var late []store.Commit
	slow := &faultyStore[Tx]{Store: w.store(), save: func(commits []store.Commit) error {
		late = slices.Clone(commits)
		return held
	}}
	first, second := w.engineOn(slow, m), w.engine(m)
	id := w.id()
	_, err := second.Create(w.Context(), "gc", id, gc.Create{Digest: "d"}, engine.Call{})
	must(w.T, err)
	if _, err := first.Fire(w.Context(), "gc", id, gc.DeleteRequest{Authorized: true}, engine.Call{}); !errors.Is(err, held) {
		w.Fatalf("the first writer was told %v", err)
	}
	// There and back: the state is that which the first writer has read.
	for _, event := range []fsm.Payload{gc.DeleteRequest{Authorized: true}, gc.RestoreRequest{Authorized: true}} {
		_, err := second.Fire(w.Context(), "gc", id, event, engine.Call{})
		must(w.T, err)
	}
	db := w.store()
	err = db.InTx(w.Context(), func(tx Tx) error { return db.Save(w.Context(), tx, late) })
	var conflict *store.ConflictError
	if !errors.As(err, &conflict) || conflict.Expected != 1 {
		w.Fatalf("the stale write ended in %v", err)
	}
	w.in(second, "gc", id, "live")
	if got, want := w.transitions(second, "gc", id), []string{"create", "tombstone", "restore"}; !slices.Equal(got, want) {
		w.Errorf("the history tells %v, want %v", got, want)
	}
}

// Bug 4: libraries that call back into user code while they hold a lock
// deadlock when that code fires an event.
func TestHandlersMayFire(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { handlersFire(sqliteWorld(t)) })
	t.Run("postgres", func(t *testing.T) { handlersFire(postgresWorld(t)) })
}

func handlersFire[Tx any](w *world[Tx]) {
	e := w.engine(deal.Define[Tx](nil, deal.DefaultParams()), gc.Define[Tx](nil, gc.DefaultParams()))
	id, other := w.awaitingPayment(e), w.id()
	w.handle = func(ctx context.Context, d fsm.Dispatch) (*fsm.Event, error) {
		if d.Effect != "deal.events" || d.Version != 4 {
			return nil, nil
		}
		// On the very record that asked.
		_, err := e.Fire(ctx, "deal", d.Record, deal.DepositConfirmed{TxHash: "t", AmountNano: 100}, engine.Call{By: system})
		return nil, err
	}
	w.inTx = func(ctx context.Context, tx Tx, d fsm.Dispatch) error {
		if _, err := e.Fire(ctx, "deal", d.Record, deal.Cancel{}, engine.Call{By: advertiser}); err == nil || !strings.Contains(err.Error(), "FireTx") {
			w.Errorf("firing in a transaction of its own was answered with %v", err)
		}
		_, err := e.CreateTx(ctx, tx, "gc", other, gc.Create{Digest: "d"}, engine.Call{})
		return err
	}
	for range 100 {
		n, err := e.Step(w.Context())
		must(w.T, err)
		if n == 0 {
			break
		}
	}
	w.in(e, "deal", id, "FUNDED")
	w.in(e, "gc", other, "live")
}

// Bug 5: users of ORM state machines ask for the same thing again and again:
// stop clients from writing the state column directly.
func TestTheStateColumnIsNotWrittenDirectly(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { stateColumn(sqliteWorld(t)) })
	t.Run("postgres", func(t *testing.T) { stateColumn(postgresWorld(t)) })
}

func stateColumn[Tx any](w *world[Tx]) {
	e := w.engine(deal.Define[Tx](nil, deal.DefaultParams()))
	id := w.awaitingPayment(e)
	for _, statement := range []string{
		"UPDATE deals SET status = 'COMPLETED_RELEASED'",
		"UPDATE deals SET status = 'FUNDED'",
		"UPDATE deals SET status = 'EXPIRED', version = version + 1", // an edge, but not by this event
		"UPDATE deals SET version = version + 2, status = 'EXPIRED', last_event = 'EXPIRE'",
		"UPDATE deals SET status = 'nonsense', version = version + 1",
		"DELETE FROM deals",
	} {
		if _, err := w.sql.Exec(statement); err == nil {
			w.Errorf("the database lets anybody %s", statement)
		}
	}
	w.in(e, "deal", id, "AWAITING_PAYMENT")
	if n := len(w.transitions(e, "deal", id)); n != 4 {
		w.Errorf("the history has %d rows", n)
	}
}

// Bug 6, first part: users can't tell which guard refused.
func TestARefusalNamesItsGuard(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { refusalNames(sqliteWorld(t)) })
	t.Run("postgres", func(t *testing.T) { refusalNames(postgresWorld(t)) })
}

func refusalNames[Tx any](w *world[Tx]) {
	e := w.engine(gc.Define[Tx](nil, gc.DefaultParams()))
	id := w.id()
	_, err := e.Create(w.Context(), "gc", id, gc.Create{Digest: "d"}, engine.Call{})
	must(w.T, err)
	_, err = e.Fire(w.Context(), "gc", id, gc.DeleteRequest{Authorized: true}, engine.Call{})
	must(w.T, err)
	_, err = e.Fire(w.Context(), "gc", id, gc.RetentionElapsed{ActiveReferences: 3}, engine.Call{})
	var x *fsm.Rejection
	if !errors.As(err, &x) {
		w.Fatalf("the refusal is %v", err)
	}
	if x.State != "tombstoned" || x.Event != "retention_elapsed" || x.Failure != "refused" || x.Status != 409 {
		w.Errorf("it is about %s in %s: %s %d", x.Event, x.State, x.Failure, x.Status)
	}
	for _, part := range []string{id, "expire", "retention_until <= $now"} {
		if !strings.Contains(err.Error(), part) {
			w.Errorf("it does not name %s: %v", part, err)
		}
	}
	if want := []string{"restore_request", "retention_elapsed"}; !slices.Equal(x.Legal, want) {
		w.Errorf("legal are %v, want %v", x.Legal, want)
	}
}

// Bug 6, second part: users don't get their deadlines back after a restart.
func TestTimersComeBackAfterARestart(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { timersComeBack(sqliteWorld(t)) })
	t.Run("postgres", func(t *testing.T) { timersComeBack(postgresWorld(t)) })
}

func timersComeBack[Tx any](w *world[Tx]) {
	m := deal.Define[Tx](nil, deal.DefaultParams())
	first := w.engine(m)
	ids := []string{w.awaitingPayment(first), w.awaitingPayment(first)}
	w.clock.add(deal.DefaultParams().PaymentTimeout - time.Second)
	second := w.engine(m) // knows nothing of the first one but the database
	w.works(second)
	for _, id := range ids {
		w.in(second, "deal", id, "AWAITING_PAYMENT")
	}
	w.clock.add(time.Second)
	w.works(second)
	for _, id := range ids {
		w.in(second, "deal", id, "EXPIRED")
	}
}

// Bug 6, third part: users can't change a definition under live rows. What the
// new one does not know is kept until a worker that does comes back; what it
// knows goes on.
func TestADefinitionChangesUnderLiveRows(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { definitionChanges(sqliteWorld(t)) })
	t.Run("postgres", func(t *testing.T) { definitionChanges(postgresWorld(t)) })
}

// without is a machine of another version: one effect is missing.
type without[Tx any] struct {
	engine.Machine[Tx]
	effect string
}

func (m without[Tx]) Effects() []fsm.EffectInfo {
	return slices.DeleteFunc(slices.Clone(m.Machine.Effects()), func(i fsm.EffectInfo) bool { return i.Name == m.effect })
}

func definitionChanges[Tx any](w *world[Tx]) {
	m := deal.Define[Tx](nil, deal.DefaultParams())
	old := w.engine(m)
	id := w.id()
	_, err := old.Create(w.Context(), "deal", id, deal.Create{OwnerID: 8, PriceNano: 100}, engine.Call{By: advertiser})
	must(w.T, err)
	_, err = old.Fire(w.Context(), "deal", id, deal.SubmitOffer{}, engine.Call{By: advertiser})
	must(w.T, err)

	changed := w.engine(without[Tx]{m, "notify_owner"})
	w.works(changed)
	if n := w.called("deal.events"); n != 2 {
		w.Errorf("%d messages that both versions know were delivered", n)
	}
	if n := w.count("fsm_outbox WHERE effect = 'notify_owner' AND state = 'pending' AND attempts = 0"); n != 1 {
		w.Errorf("%d messages wait for whoever knows them", n)
	}
	_, err = changed.Fire(w.Context(), "deal", id, deal.Withdraw{}, engine.Call{By: advertiser})
	if err == nil {
		w.Error("a step was accepted whose effect the definition does not know")
	}
	w.in(changed, "deal", id, "OFFER_PENDING")

	w.works(old)
	if n := w.called("notify_owner"); n != 1 {
		w.Errorf("the message was delivered %d times", n)
	}
}
