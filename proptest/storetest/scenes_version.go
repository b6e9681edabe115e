package storetest

import (
	"context"
	"errors"
	"strings"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func onlyAtVersion[Tx any]() []scene[Tx] {
	return []scene[Tx]{
		{"ALateApprovalApprovesNoDraftThatItHasNotSeen", lateApproval[Tx]},
		{"ARedeliveredDraftDoesNotReviveARejectedOne", redeliveredDraft[Tx]},
		{"EveryWayToFireAsks", everyWayAsks[Tx]},
		{"WithinATransactionItsOwnEventsCount", versionsWithinTransaction[Tx]},
		{"AnAcceptedKeyAnswersAtAnyVersion", keyAtAnyVersion[Tx]},
		{"AlreadyThereIsForTheVersionToo", alreadyThereAtVersion[Tx]},
		{"OfManyWithOneVersionExactlyOneWins", oneOfAVersion[Tx]},
		{"ACreationHasNoVersion", creationHasNone[Tx]},
	}
}

// at is a call for a version.
func at(version int64, by fsm.Caller) engine.Call { return engine.Call{By: by, IfVersion: version} }

// submitted makes a deal whose first draft was submitted: version 6.
func (s *stage[Tx]) submitted() string {
	s.Helper()
	id := s.paid()
	s.accepts("deal", id, deal.SubmitDraft{Creative: `{"draft":1}`}, owner)
	return id
}

// tooLate fails the test unless err says which version and state are there.
func (s *stage[Tx]) tooLate(err error, wanted, version int64, state string) {
	s.Helper()
	s.wants(err, engine.ErrVersion)
	if errors.Is(err, store.ErrConflict) {
		s.Errorf("%v is a conflict, which callers may try again", err)
	}
	e := as[*engine.VersionError](s, err)
	if e.IfVersion != wanted || e.Version != version || e.State != state {
		s.Fatalf("the error says %+v", e)
	}
	if want := "read the record and decide again"; !strings.Contains(err.Error(), want) {
		s.Fatalf("the error %q does not say: %s", err, want)
	}
}

// lateApproval has the owner replace the draft while the advertiser looks at it.
func lateApproval[Tx any](s *stage[Tx]) {
	id := s.submitted()
	seen, err := s.engine.Get(s.ctx, "deal", id)
	s.must(err)
	s.accepts("deal", id, deal.RequestRevision{}, advertiser)
	s.accepts("deal", id, deal.SubmitDraft{Creative: `{"draft":2}`}, owner)
	_, err = s.engine.Fire(s.ctx, "deal", id, deal.Approve{}, at(seen.Version, advertiser))
	s.tooLate(err, 6, 8, "CREATIVE_SUBMITTED")
	s.in("deal", id, "CREATIVE_SUBMITTED", 8)
	_, err = s.engine.Fire(s.ctx, "deal", id, deal.Approve{}, at(8, advertiser))
	s.must(err)
	s.in("deal", id, "CREATIVE_APPROVED", 9)
}

// redeliveredDraft delivers a draft again that was rejected meanwhile.
func redeliveredDraft[Tx any](s *stage[Tx]) {
	id := s.paid()
	submit := func() error {
		_, err := s.engine.Fire(s.ctx, "deal", id, deal.SubmitDraft{Creative: `{"draft":1}`}, at(5, owner))
		return err
	}
	s.must(submit())
	s.accepts("deal", id, deal.RequestRevision{}, advertiser)
	s.tooLate(submit(), 5, 7, "FUNDED")
	s.in("deal", id, "FUNDED", 7)
}

// everyWayAsks fires for a version before the present one, and then for that.
func everyWayAsks[Tx any](s *stage[Tx]) {
	for _, way := range []struct {
		name string
		fire func(id string, c engine.Call) error
	}{
		{"Fire", func(id string, c engine.Call) error {
			_, err := s.engine.Fire(s.ctx, "deal", id, deal.Accept{}, c)
			return err
		}},
		{"FireTx", func(id string, c engine.Call) error {
			return s.Store.InTx(s.ctx, func(tx Tx) error {
				_, err := s.engine.FireTx(s.ctx, tx, "deal", id, deal.Accept{}, c)
				return err
			})
		}},
		{"FireBatch", func(id string, c engine.Call) error {
			other := s.offered()
			outcomes, err := s.engine.FireBatch(s.ctx, []engine.Firing{
				{Machine: "deal", ID: id, Event: deal.Accept{}, Call: c},
				{Machine: "deal", ID: other, Event: deal.Accept{}, Call: at(2, owner)},
			})
			s.must(errors.Join(err, outcomes[1].Err))
			s.in("deal", other, "ACCEPTED", 3) // its neighbour is not kept from being stored
			return outcomes[0].Err
		}},
		{"Transact", func(id string, c engine.Call) error {
			return s.engine.Transact(s.ctx, func(ctx context.Context, u *engine.Tx[Tx]) error {
				_, err := u.Fire(ctx, "deal", id, deal.Accept{}, c)
				return err
			})
		}},
	} {
		id := s.offered()
		s.tooLate(way.fire(id, at(1, owner)), 1, 2, "OFFER_PENDING")
		s.in("deal", id, "OFFER_PENDING", 2)
		if err := way.fire(id, at(2, owner)); err != nil {
			s.Fatalf("%s at the right version: %v", way.name, err)
		}
		s.in("deal", id, "ACCEPTED", 3)
	}
}

func versionsWithinTransaction[Tx any](s *stage[Tx]) {
	id := s.offered()
	s.must(s.engine.Transact(s.ctx, func(ctx context.Context, u *engine.Tx[Tx]) error {
		_, err := u.Fire(ctx, "deal", id, deal.CounterOffer{PriceNano: 90}, at(2, owner))
		s.must(err)
		err = u.Try(func() error {
			_, err := u.Fire(ctx, "deal", id, deal.Agree{}, at(2, advertiser))
			return err
		})
		s.tooLate(err, 2, 3, "NEGOTIATING")
		_, err = u.Fire(ctx, "deal", id, deal.Agree{}, at(3, advertiser))
		return err
	}))
	s.in("deal", id, "ACCEPTED", 4)
}

func keyAtAnyVersion[Tx any](s *stage[Tx]) {
	id := s.offered()
	counter := func(version int64) (engine.Outcome, error) {
		return s.engine.Fire(s.ctx, "deal", id, deal.CounterOffer{PriceNano: 90}, engine.Call{By: owner, IdempotencyKey: "k", IfVersion: version})
	}
	_, err := counter(1)
	s.tooLate(err, 1, 2, "OFFER_PENDING") // which consumes no key
	_, err = counter(2)
	s.must(err)
	s.accepts("deal", id, deal.Agree{}, advertiser)
	for _, version := range []int64{2, 4, 99} {
		if o, err := counter(version); err != nil || !o.Replayed || o.Version != 3 {
			s.Fatalf("again for version %d: %s, %v", version, text(o), err)
		}
	}
	s.in("deal", id, "ACCEPTED", 4)
}

func alreadyThereAtVersion[Tx any](s *stage[Tx]) {
	id := s.offered()
	_, err := s.engine.Fire(s.ctx, "deal", id, deal.SubmitOffer{}, at(1, advertiser))
	s.tooLate(err, 1, 2, "OFFER_PENDING")
	o, err := s.engine.Fire(s.ctx, "deal", id, deal.SubmitOffer{}, at(2, advertiser))
	s.must(err)
	if !o.AlreadyThere || o.Version != 2 {
		s.Fatalf("the outcome is %s", text(o))
	}
}

// oneOfAVersion has a crowd make counter-offers that are all for one version. None
// but the winner may change the record, and each hears what is there.
func oneOfAVersion[Tx any](s *stage[Tx]) {
	for range 4 {
		id := s.offered()
		won := s.atOnce(func(db store.Store[Tx], i int) error {
			_, err := s.open(db, s.config).Fire(s.ctx, "deal", id, deal.Accept{}, at(2, owner))
			if e := new(engine.VersionError); errors.As(err, &e) && (e.Version != 3 || e.State != "ACCEPTED") {
				s.Errorf("it does not say what is there: %v", err)
			}
			return err
		}, engine.ErrVersion)
		if won != 1 {
			s.Fatalf("%d events for one version were accepted", won)
		}
		s.in("deal", id, "ACCEPTED", 3)
	}
}

func creationHasNone[Tx any](s *stage[Tx]) {
	_, err := s.engine.Create(s.ctx, "deal", s.id(), deal.Create{OwnerID: 8, PriceNano: 100}, at(1, advertiser))
	if err == nil || !strings.Contains(err.Error(), "IfVersion is for a record that exists") {
		s.Fatalf("the error is %v", err)
	}
	_, err = s.engine.Fire(s.ctx, "deal", s.id(), deal.Accept{}, at(1, owner))
	s.wants(err, engine.ErrNotFound)
}
