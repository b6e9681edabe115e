package posts_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/generated/transfer"
	"github.com/fsmgen/fsmgen/runtime/enginetest"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/deal/internal/dbtest"
	"github.com/fsmgen/fsmgen/services/deal/internal/sqltx"
	"github.com/fsmgen/fsmgen/services/deal/posts"
)

var _ posts.Deals = (*deal.Client[*sql.Tx])(nil)

// served is a fixture whose effects and deals are those of an engine.
type served struct {
	*fixture[*sql.Tx]
	engine *enginetest.Engine
	client *deal.Client[*sql.Tx]
}

func serve(t *testing.T) *served {
	t.Helper()
	machine := enginetest.NewFake(t, deal.Define[*sql.Tx](nil, deal.DefaultParams()))
	e := enginetest.New(t, machine, enginetest.NewFake(t, transfer.Define[*sql.Tx](nil, transfer.DefaultParams())))
	f := fixtureOf(t, dbtest.Database[*sql.Tx]{Store: e.Store, Statements: sqltx.SQLite}, posts.SQLite())
	f.clock = e.Clock
	f.process = f.another(e.Store)
	ctx := t.Context()
	machine.On("generate_deposit_address", enginetest.Answer(deal.AddressReady{DepositAddress: "address"}))
	machine.On("enable_publishing", handle(func(d fsm.Dispatch, e deal.EnablePublishingEffect) (fsm.Payload, error) {
		return nil, f.scheduler.EnablePublishing(ctx, d, e)
	}))
	machine.On("schedule_post", handle(func(d fsm.Dispatch, e deal.SchedulePostEffect) (fsm.Payload, error) {
		return nil, f.scheduler.SchedulePost(ctx, d, e)
	}))
	machine.On("publish_post", handle(func(d fsm.Dispatch, e deal.PublishPostEffect) (fsm.Payload, error) {
		return f.scheduler.PublishPost(ctx, d, e)
	}))
	machine.On("verify_callback", handle(func(d fsm.Dispatch, e deal.VerifyCallbackEffect) (fsm.Payload, error) {
		return f.scheduler.VerifyCallback(ctx, d, e)
	}))
	machine.On("start_verification", handle(func(d fsm.Dispatch, e deal.StartVerificationEffect) (fsm.Payload, error) {
		return nil, f.verifier.StartVerification(ctx, d, e)
	}))
	return &served{f, e, deal.In[*sql.Tx](e.Engine)}
}

func handle[E any](h func(fsm.Dispatch, E) (fsm.Payload, error)) enginetest.Handler {
	return func(d fsm.Dispatch) (fsm.Payload, error) {
		e, err := fsm.PayloadOf[E](d)
		if err != nil {
			return nil, err
		}
		return h(d, e)
	}
}

func (s *served) fires(event deal.Payload, by deal.Actor) {
	s.Helper()
	_, err := s.client.Fire(s.Context(), id(1), event, by)
	must(s.T, err)
	enginetest.Drain(s.T, s.engine)
}

// approved takes a deal to CREATIVE_APPROVED.
func (s *served) approved() {
	s.Helper()
	const owner, price = 2, 1000
	advertiser := deal.ByAdvertiser(1)
	_, err := s.client.Create(s.Context(), id(1), deal.Create{OwnerID: owner, PriceNano: price}, advertiser)
	must(s.T, err)
	s.fires(deal.SubmitOffer{}, advertiser)
	s.fires(deal.Accept{}, deal.ByOwner(owner))
	s.fires(deal.DepositConfirmed{TxHash: "tx", AmountNano: price}, deal.BySystem())
	s.fires(deal.SubmitDraft{Draft: 1, Creative: creative.V}, deal.ByOwner(owner))
	s.fires(deal.Approve{Draft: 1}, advertiser)
}

// until advances the clock; scheduler, verifier and engine work whenever a post is due.
func (s *served) until(since time.Duration) {
	s.Helper()
	s.steps(since, func() {
		for _, round := range []func(context.Context, posts.Deals) (int, error){s.scheduler.Round, s.verifier.Round} {
			_, err := round(s.Context(), s.client)
			must(s.T, err)
		}
		enginetest.Drain(s.T, s.engine)
	})
}

func (s *served) in(want deal.State) {
	s.Helper()
	found, err := s.client.Get(s.Context(), id(1))
	must(s.T, err)
	if found.Record.State != want {
		s.Errorf("at %s the deal is in %s, want %s", s.clock.Now(), found.Record.State, want)
	}
}

// TestADealWithItsPost: an engine carries out the effects of a deal by the scheduler and the verifier,
// and takes their events.
func TestADealWithItsPost(t *testing.T) {
	t.Parallel()
	owner := deal.ByOwner(2)
	t.Run("at a time", func(t *testing.T) {
		t.Parallel()
		s := serve(t)
		s.approved()
		s.fires(deal.SetPublishTime{PublishAt: begin.Add(time.Hour)}, owner)
		s.until(time.Hour - time.Minute)
		s.in(deal.Scheduled)
		s.until(time.Hour)
		s.in(deal.DeliveryVerifying)
		s.until(25*time.Hour - time.Minute)
		s.in(deal.DeliveryVerifying)
		s.until(25 * time.Hour)
		s.in(deal.CompletedReleased)
	})
	t.Run("now", func(t *testing.T) {
		t.Parallel()
		s := serve(t)
		s.approved()
		s.fires(deal.PublishNow{}, owner)
		s.in(deal.DeliveryVerifying)
		s.until(day)
		s.in(deal.CompletedReleased)
	})
	t.Run("deleted", func(t *testing.T) {
		t.Parallel()
		s := serve(t)
		s.approved()
		s.fires(deal.SetPublishTime{PublishAt: begin.Add(-time.Hour)}, owner)
		s.until(time.Hour)
		s.in(deal.DeliveryVerifying)
		s.deleted(1)
		s.until(time.Hour + config.Every + time.Minute)
		s.in(deal.Disputed)
	})
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		s := serve(t)
		must(t, s.channel.Channel.Publish(t.Context(), key, []byte("another")))
		s.approved()
		s.fires(deal.PublishNow{}, owner)
		s.in(deal.Disputed)
	})
	t.Run("the verifier was dead", func(t *testing.T) {
		t.Parallel()
		s := serve(t)
		s.approved()
		s.fires(deal.PublishNow{}, owner)
		s.clock.Set(begin.Add(day))
		s.until(day + time.Hour)
		s.in(deal.DeliveryVerifying)
	})
}
