package engine_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// TestATransactionInsideAnother: what needs a transaction of its own is refused with
// the context of one, before it waits for it.
func TestATransactionInsideAnother(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.offered("1")
	letter := s.texts("SELECT message_id FROM fsm_outbox")[0]
	id, e := fullID("1"), s.engine
	calls := map[string]func(ctx context.Context) error{
		"Fire": func(ctx context.Context) error {
			_, err := e.Fire(ctx, "deal", id, deal.Accept{}, owner)
			return err
		},
		"Create": func(ctx context.Context) error {
			_, err := e.Create(ctx, "deal", fullID("2"), deal.Create{OwnerID: 2, PriceNano: 100}, advertiser)
			return err
		},
		"FireBatch": func(ctx context.Context) error {
			outcomes, err := e.FireBatch(ctx, []engine.Firing{{Machine: "deal", ID: id, Event: deal.Accept{}, Call: owner}})
			if err == nil {
				err = outcomes[0].Err
			}
			return err
		},
		"Transact": func(ctx context.Context) error {
			return e.Transact(ctx, func(context.Context, *engine.Tx[*sql.Tx]) error { return nil })
		},
		"Force": func(ctx context.Context) error {
			_, err := e.Force(ctx, "deal", id, deal.Expire{}, "w", "y", engine.Call{})
			return err
		},
		"Pause":   func(ctx context.Context) error { return e.Pause(ctx, engine.Scope{Machine: "deal"}, "w", "y") },
		"Unpause": func(ctx context.Context) error { return e.Unpause(ctx, engine.Scope{Machine: "deal"}, "w", "y") },
		"Run":     e.Run,
		"Step":    func(ctx context.Context) error { _, err := e.Step(ctx); return err },
		"Requeue": func(ctx context.Context) error { return e.Requeue(ctx, letter, "w", "y") },
		"Discard": func(ctx context.Context) error { return e.Discard(ctx, letter, "w", "y") },
		"RequeueAll": func(ctx context.Context) error {
			_, err := e.RequeueAll(ctx, engine.Filter{}, "w", "y")
			return err
		},
		"DiscardAll": func(ctx context.Context) error {
			_, err := e.DiscardAll(ctx, engine.Filter{}, "w", "y")
			return err
		},
		"Resume": func(ctx context.Context) error {
			_, err := e.Resume(ctx, "deal", id, "w", "y")
			return err
		},
		"ResumeAll": func(ctx context.Context) error {
			_, err := e.ResumeAll(ctx, "deal", "", "w", "y")
			return err
		},
	}
	errDone := errors.New("all were called")
	err := e.Transact(t.Context(), func(ctx context.Context, _ *engine.Tx[*sql.Tx]) error {
		for name, call := range calls {
			if err := call(ctx); !errors.Is(err, engine.ErrNested) {
				t.Errorf("%s says %v", name, err)
			}
		}
		return errDone
	})
	if !errors.Is(err, errDone) {
		t.Errorf("the transaction ended by %v", err)
	}
}

// TestInlineIsWithinATransaction: its function is given the context of one.
func TestInlineIsWithinATransaction(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	r := newRegistered(s)
	asked := 0
	r.open(s.store)
	if err := r.engine.Inline("registration", "validate_payload", func(ctx context.Context, _ *sql.Tx, effects []fsm.Dispatch) ([]*fsm.Event, error) {
		asked++
		if _, err := r.engine.Step(ctx); !errors.Is(err, engine.ErrNested) {
			t.Errorf("a step inside says %v", err)
		}
		return make([]*fsm.Event, len(effects)), nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := r.begins(fullID("1"), "n1"); err != nil {
		t.Fatal(err)
	}
	if asked != 1 {
		t.Errorf("the effect was carried out %d times", asked)
	}
}
