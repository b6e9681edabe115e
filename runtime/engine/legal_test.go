package engine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// legalNow is the verdict on an event, and what is legal beside it.
func (s *stage) legalNow(id string, by deal.Actor, event string) (v fsm.Verdict, legal []string) {
	s.t.Helper()
	verdicts, _, err := s.engine.Legal(s.t.Context(), "deal", id, by.Caller())
	if err != nil {
		s.t.Fatal(err)
	}
	if len(verdicts) != len(deal.Events()) {
		s.t.Errorf("%d verdicts on %d events", len(verdicts), len(deal.Events()))
	}
	for _, each := range verdicts {
		if each.Legal {
			legal = append(legal, each.Event)
		}
		if each.Event == event {
			v = each
		}
	}
	return v, legal
}

func TestLegalIsForAnActor(t *testing.T) {
	s := newStage(t)
	id := s.offered("1")
	for _, tt := range []struct {
		by    deal.Actor
		legal []string
	}{
		{deal.ByAdvertiser(7), []string{"WITHDRAW"}},
		{deal.ByAdvertiser(8), nil}, // of another deal
		{deal.ByOwner(2), []string{"COUNTER_OFFER", "ACCEPT", "REJECT"}},
		{deal.ByOperator(1), nil},
		{deal.BySystem(), []string{"EXPIRE"}},
	} {
		if _, legal := s.legalNow(id, tt.by, ""); !slices.Equal(legal, tt.legal) {
			t.Errorf("%v may fire %v, want %v", tt.by, legal, tt.legal)
		}
	}
	_, seen, err := s.engine.Legal(t.Context(), "deal", id, deal.BySystem().Caller())
	if err != nil || seen.Version != 2 || seen.ID != id {
		t.Errorf("it is about %+v, %v", seen, err)
	}
	if _, _, err := s.engine.Legal(t.Context(), "deal", id, fsm.Caller{Role: "janitor"}); err == nil || !strings.Contains(err.Error(), `"janitor" is not a role`) {
		t.Errorf("an unknown role: %v", err)
	}
	if _, _, err := s.engine.Legal(t.Context(), "deal", fullID("404"), owner.By); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("an unknown record: %v", err)
	}
}

func TestLegalSaysWhyNot(t *testing.T) {
	s := newStage(t)
	id := s.offered("1")
	if v, _ := s.legalNow(id, deal.ByAdvertiser(7), "ACCEPT"); v.Legal || v.Why.Reason != fsm.ErrNotAllowed || !slices.Equal(v.Why.Legal, []string{"WITHDRAW"}) {
		t.Errorf("the other party's event: %+v, %v", v, v.Why)
	}
	if v, _ := s.legalNow(id, deal.ByAdvertiser(7), "APPROVE"); v.Legal || v.Why.Reason != fsm.ErrInvalidTransition {
		t.Errorf("an event of another state: %+v, %v", v, v.Why)
	}
	s.fund(id)
	v, _ := s.legalNow(id, deal.ByAdvertiser(7), "CANCEL")
	if v.Legal || v.Why.Reason != fsm.ErrRefused || v.Why.Failure != "already_funded" || v.Why.Status != 409 {
		t.Errorf("a refusal: %+v, %v", v, v.Why)
	}
}

func TestLegalSaysWhatThePayloadDecides(t *testing.T) {
	s := newStage(t)
	id := s.offered("1")
	s.await(id)
	v, _ := s.legalNow(id, deal.BySystem(), "DEPOSIT_CONFIRMED")
	if !v.Legal || len(v.Needs) != 3 {
		t.Fatalf("the verdict is %+v", v)
	}
	if n := v.Needs[0]; n.Row != "fund" || n.Clause != "amount_nano == $price_nano" || !slices.Equal(n.Fields, []string{"amount_nano"}) {
		t.Errorf("it needs %+v", n)
	}
}

// TestRejectionNamesWhatTheActorMayDo: not what others may.
func TestRejectionNamesWhatTheActorMayDo(t *testing.T) {
	s := newStage(t)
	id := s.offered("1")
	for _, tt := range []struct {
		call engine.Call
		want []string
	}{{advertiser, []string{"WITHDRAW"}}, {owner, []string{"COUNTER_OFFER", "ACCEPT", "REJECT"}}, {engine.Call{By: deal.ByOwner(9).Caller()}, nil}} {
		_, err := s.engine.Fire(t.Context(), "deal", id, deal.Agree{}, tt.call)
		var x *fsm.Rejection
		if !errors.As(err, &x) || !slices.Equal(x.Legal, tt.want) {
			t.Errorf("%v is told %v, want %v", tt.call.By, err, tt.want)
		}
	}
}

// await leads an offered deal to AWAITING_PAYMENT.
func (s *stage) await(id string) {
	s.t.Helper()
	system := engine.Call{By: fsm.System()}
	_, err := s.engine.Fire(s.t.Context(), "deal", id, deal.Accept{}, owner)
	if err == nil {
		_, err = s.engine.Fire(s.t.Context(), "deal", id, deal.AddressReady{DepositAddress: "a"}, system)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// fund leads an offered deal to FUNDED.
func (s *stage) fund(id string) {
	s.t.Helper()
	s.await(id)
	if _, err := s.engine.Fire(s.t.Context(), "deal", id, deal.DepositConfirmed{TxHash: "t", AmountNano: 100}, engine.Call{By: fsm.System()}); err != nil {
		s.t.Fatal(err)
	}
}
