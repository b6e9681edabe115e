package engine_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/engine"
)

// outer is the key of the operation that another one is part of.
type outer struct{}

// trace writes what begins, within what, and what came of it.
func (s *stage) trace(ctx context.Context, op engine.Operation) (context.Context, func(error)) {
	name := fmt.Sprintf("%s %s.%s", op.Kind, op.Machine, op.Name)
	if op.Attempt > 0 {
		name += fmt.Sprintf(" attempt %d", op.Attempt)
	}
	if op.Size > 0 {
		name = fmt.Sprintf("%s of %d", op.Kind, op.Size)
	}
	line := name
	if around, ok := ctx.Value(outer{}).(string); ok {
		line += " within " + around
	}
	if op.Correlation != "" {
		line += " for " + op.Correlation
	}
	return context.WithValue(ctx, outer{}, name), func(err error) {
		outcome := "ok"
		if err != nil {
			outcome = "failed"
		}
		s.traced = append(s.traced, line+": "+outcome)
	}
}

func TestOperationsAreTraced(t *testing.T) {
	s := newStage(t)
	s.config.Trace = s.trace
	s.open()
	id := fullID("1")
	by, call := deal.ByAdvertiser(7).Caller(), func(correlation string) engine.Call {
		return engine.Call{By: deal.ByAdvertiser(7).Caller(), Correlation: correlation}
	}
	expect := func(want ...string) {
		t.Helper()
		if !slices.Equal(s.traced, want) {
			t.Errorf("traced:\n%q\nwant:\n%q", s.traced, want)
		}
		s.traced = nil
	}
	if _, err := s.engine.Create(t.Context(), "deal", id, deal.Create{OwnerID: 8, PriceNano: 5}, call("c-1")); err != nil {
		t.Fatal(err)
	}
	expect("create deal.CREATE for c-1: ok")
	if _, err := s.engine.Fire(t.Context(), "deal", id, deal.Accept{}, call("c-2")); err == nil {
		t.Fatal("a draft was accepted")
	}
	expect("fire deal.ACCEPT for c-2: failed")
	err := s.store.InTx(t.Context(), func(tx *sql.Tx) error {
		_, err := s.engine.FireTx(t.Context(), tx, "deal", id, deal.SubmitOffer{}, call("c-3"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	expect("fire deal.SUBMIT_OFFER for c-3: ok")

	s.run("script notify_owner fail no")
	if _, err := s.engine.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect(
		"handle deal.deal.events attempt 1 within effect deal.deal.events attempt 1 for c-1: ok",
		"effect deal.deal.events attempt 1 for c-1: ok",
		"handle deal.notify_owner attempt 1 within effect deal.notify_owner attempt 1 for c-3: failed",
		"effect deal.notify_owner attempt 1 for c-3: ok",
	)

	s.run("tick 49h")
	s.run("script deal.events ok")
	if _, err := s.engine.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect(
		"handle deal.deal.events attempt 1 within effect deal.deal.events attempt 1 for c-3: ok",
		"effect deal.deal.events attempt 1 for c-3: ok",
		"handle deal.notify_owner attempt 2 within effect deal.notify_owner attempt 2 for c-3: ok",
		"effect deal.notify_owner attempt 2 for c-3: ok",
		"fire deal.EXPIRE within deadline deal.EXPIRE for c-3: ok",
		"deadline deal.EXPIRE for c-3: ok",
	)

	outcomes, err := s.engine.FireBatch(t.Context(), []engine.Firing{{Machine: "deal", ID: id, Event: deal.Accept{}, Call: engine.Call{By: by}}})
	if err != nil || outcomes[0].Err == nil {
		t.Fatal("an expired deal was accepted", errors.Join(err, outcomes[0].Err))
	}
	expect("batch of 1: failed")
}
