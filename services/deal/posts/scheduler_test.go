package posts_test

import (
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/deal/internal/dbtest"
	"github.com/fsmgen/fsmgen/services/deal/posts"
)

// onBoth runs a test on both databases.
func onBoth(t *testing.T, lite func(*fixture[*sql.Tx]), server func(*fixture[pgx.Tx])) {
	t.Helper()
	dbtest.OnBoth(t,
		func(t *testing.T, db dbtest.Database[*sql.Tx]) { lite(fixtureOf(t, db, posts.SQLite())) },
		func(t *testing.T, db dbtest.Database[pgx.Tx]) { server(fixtureOf(t, db, posts.Postgres())) })
}

// permanent checks an error that the engine does not repeat.
func permanent(t *testing.T, err, want error) {
	t.Helper()
	var final *engine.PermanentError
	if !errors.As(err, &final) || !errors.Is(err, want) {
		t.Errorf("got %v, want a permanent %v", err, want)
	}
}

// TestAPostIsPublishedAtItsTime, and no sooner; a time that has passed means at once.
func TestAPostIsPublishedAtItsTime(t *testing.T) {
	t.Parallel()
	onBoth(t, atItsTime[*sql.Tx], atItsTime[pgx.Tx])
}

func atItsTime[T any](f *fixture[T]) {
	f.scheduled(1, begin.Add(time.Hour))
	f.scheduled(2, begin.Add(-time.Hour))
	f.publishes(1)
	f.is(1, posts.Scheduled, true)
	if p := f.is(2, posts.Published, false); !p.PublishedAt.V.Equal(begin) || p.Content != content || p.Hash != posts.Hash([]byte(content)) {
		f.Errorf("got %+v", p)
	}
	f.clock.Set(begin.Add(time.Hour - time.Microsecond))
	f.publishes(0)
	f.clock.Set(begin.Add(time.Hour))
	f.publishes(1)
	f.publishes(0)
	f.is(1, posts.Published, false)
	f.fired("AUTO_PUBLISHED", "AUTO_PUBLISHED")
	if sight, err := f.channel.Look(f.Context(), key); err != nil || sight != (posts.Sight{Seen: true, Hash: posts.Hash([]byte(content))}) {
		f.Errorf("the channel has %+v, %v", sight, err)
	}
}

// TestRepeatsOfEffects change nothing, and other content or another time is refused for good.
func TestRepeatsOfEffects(t *testing.T) {
	t.Parallel()
	onBoth(t, repeats[*sql.Tx], repeats[pgx.Tx])
}

func repeats[T any](f *fixture[T]) {
	ctx, d, s := f.Context(), fsm.Dispatch{}, f.scheduler
	other, reordered := fsm.Some(fsm.JSON(`{"text":"other"}`)), fsm.Some(fsm.JSON(`{"image": {"h":1e1, "w":2}, "text":"a \u003c b"}`))
	must(f.T, s.EnablePublishing(ctx, d, deal.EnablePublishingEffect{DealID: id(1), Creative: creative}))
	must(f.T, s.EnablePublishing(ctx, d, deal.EnablePublishingEffect{DealID: id(1), Creative: reordered}))
	permanent(f.T, s.EnablePublishing(ctx, d, deal.EnablePublishingEffect{DealID: id(1), Creative: other}), posts.ErrConflict)
	permanent(f.T, s.EnablePublishing(ctx, d, deal.EnablePublishingEffect{DealID: id(2)}), posts.ErrRefused)
	f.is(1, posts.Enabled, false)

	at := begin.Add(time.Hour)
	schedule := func(creative fsm.Optional[fsm.JSON], at time.Time) error {
		return s.SchedulePost(ctx, d, deal.SchedulePostEffect{DealID: id(1), Creative: creative, PublishAt: at})
	}
	must(f.T, schedule(creative, at))
	must(f.T, schedule(reordered, at.In(time.FixedZone("east", 3600)).Add(999)))
	permanent(f.T, schedule(creative, at.Add(time.Microsecond)), posts.ErrConflict)
	permanent(f.T, schedule(other, at), posts.ErrConflict)
	if p := f.is(1, posts.Scheduled, true); !p.PublishAt.V.Equal(at) || !p.Due.V.Equal(at) {
		f.Errorf("got %+v", p)
	}

	_, err := s.PublishPost(ctx, d, deal.PublishPostEffect{DealID: id(1), Creative: other})
	permanent(f.T, err, posts.ErrConflict)
	f.clock.Set(at)
	f.deals.set(id(1), deal.Scheduled)
	f.publishes(1)
	must(f.T, schedule(creative, at))
	f.publishes(0)
	f.fired("AUTO_PUBLISHED")
}

// TestPublishNow: the answer comes when the post is there, once.
func TestPublishNow(t *testing.T) {
	t.Parallel()
	onBoth(t, publishNow[*sql.Tx], publishNow[pgx.Tx])
}

func publishNow[T any](f *fixture[T]) {
	publish := func() (deal.PublishPostAnswer, error) {
		return f.scheduler.PublishPost(f.Context(), fsm.Dispatch{}, deal.PublishPostEffect{DealID: id(1), Creative: creative})
	}
	unreachable := errors.New("unreachable")
	f.channel.on(func() error { return unreachable }, nil, nil)
	var final *engine.PermanentError
	if answer, err := publish(); answer != nil || !errors.Is(err, unreachable) || errors.As(err, &final) {
		f.Errorf("%v, %v", answer, err)
	}
	f.is(1, posts.Enabled, false)
	f.channel.on(nil, nil, nil)
	for range 2 {
		if answer, err := publish(); answer != (deal.StartVerification{}) || err != nil {
			f.Errorf("%v, %v", answer, err)
		}
	}
	f.is(1, posts.Published, false)
	f.publishes(0)
	f.fired()
	if f.channel.publications != 1 {
		f.Errorf("it was published %d times", f.channel.publications)
	}
}

// TestWhatAChannelRefuses fails for good, and stays so.
func TestWhatAChannelRefuses(t *testing.T) {
	t.Parallel()
	onBoth(t, refused[*sql.Tx], refused[pgx.Tx])
}

func refused[T any](f *fixture[T]) {
	f.scheduled(2, begin)
	must(f.T, f.channel.Channel.Publish(f.Context(), key, []byte("another")))
	must(f.T, f.channel.Channel.Publish(f.Context(), id(2).String(), []byte("another")))
	publish := func() error {
		_, err := f.scheduler.PublishPost(f.Context(), fsm.Dispatch{}, deal.PublishPostEffect{DealID: id(1), Creative: creative})
		return err
	}
	permanent(f.T, publish(), posts.ErrConflict)
	f.deleted(1)
	permanent(f.T, publish(), posts.ErrRefused)
	f.publishes(1)
	for n := range byte(2) {
		if p := f.is(n+1, posts.Refused, false); p.Reason == "" || p.PublishedAt.IsSet {
			f.Errorf("got %+v", p)
		}
		permanent(f.T, f.verifier.StartVerification(f.Context(), fsm.Dispatch{}, deal.StartVerificationEffect{DealID: id(n + 1)}), posts.ErrRefused)
	}
	f.publishes(0)
	f.fired()
}

// TestVerifyCallback confirms a post that is there, and no other.
func TestVerifyCallback(t *testing.T) {
	t.Parallel()
	onBoth(t, callback[*sql.Tx], callback[pgx.Tx])
}

func callback[T any](f *fixture[T]) {
	verify := func() (deal.VerifyCallbackAnswer, error) {
		return f.scheduler.VerifyCallback(f.Context(), fsm.Dispatch{}, deal.VerifyCallbackEffect{DealID: id(1)})
	}
	_, err := verify()
	permanent(f.T, err, posts.ErrRefused)
	f.scheduled(1, begin)
	must(f.T, f.channel.Channel.Publish(f.Context(), key, []byte(content))) // and the process died
	fails := func(want error) {
		f.Helper()
		var final *engine.PermanentError
		if answer, err := verify(); answer != nil || !errors.Is(err, want) || errors.As(err, &final) {
			f.Errorf("%v, %v, want %v", answer, err, want)
		}
	}
	fails(posts.ErrNotSeen)
	f.publishes(1)
	for range 2 {
		if answer, err := verify(); answer != (deal.StartVerification{}) || err != nil {
			f.Errorf("%v, %v", answer, err)
		}
	}
	unreachable := errors.New("unreachable")
	f.channel.on(func() error { return unreachable }, nil, nil)
	fails(unreachable)
	f.channel.on(nil, nil, nil)
	f.deleted(1)
	fails(posts.ErrNotSeen)
}

// TestADealThatHasMovedOn gets no post, and of a post that it got too late no second event.
func TestADealThatHasMovedOn(t *testing.T) {
	t.Parallel()
	onBoth(t, movedOn[*sql.Tx], movedOn[pgx.Tx])
}

func movedOn[T any](f *fixture[T]) {
	f.scheduled(1, begin)
	f.scheduled(2, begin)
	f.deals.set(id(1), deal.Disputed)
	f.channel.on(nil, func() error { f.deals.set(id(2), deal.Disputed); return nil }, nil)
	f.publishes(2)
	if p := f.is(1, posts.Dropped, false); p.Reason == "" {
		f.Errorf("got %+v", p)
	}
	if p := f.is(2, posts.Published, false); p.Reason == "" {
		f.Errorf("got %+v", p)
	}
	if sight, err := f.channel.Look(f.Context(), key); err != nil || sight.Seen {
		f.Errorf("the channel has %+v, %v", sight, err)
	}
	f.publishes(0)
	f.fired()
	// What was dropped as a scheduled post can be asked for again, now.
	_, err := f.scheduler.PublishPost(f.Context(), fsm.Dispatch{}, deal.PublishPostEffect{DealID: id(1), Creative: creative})
	must(f.T, err)
	f.is(1, posts.Published, false)
}

// TestWhatFailsComesAgain after Retry, and not before.
func TestWhatFailsComesAgain(t *testing.T) {
	t.Parallel()
	onBoth(t, comesAgain[*sql.Tx], comesAgain[pgx.Tx])
}

func comesAgain[T any](f *fixture[T]) {
	f.scheduled(1, begin)
	unreachable := errors.New("unreachable")
	fail := func() error { return unreachable }
	for _, c := range []struct {
		channel, deals func() error
		want           posts.State
	}{{fail, nil, posts.Scheduled}, {nil, fail, posts.Published}} {
		f.channel.on(c.channel, nil, nil)
		f.deals.on(c.deals, nil)
		if due, err := f.scheduler.Round(f.Context(), f.deals); due != 1 || !errors.Is(err, unreachable) {
			f.Errorf("%d were due, %v", due, err)
		}
		f.is(1, c.want, true)
		f.clock.Advance(config.Retry - time.Microsecond)
		f.publishes(0)
		f.clock.Advance(time.Microsecond)
	}
	f.deals.on(nil, nil)
	f.publishes(1)
	f.fired("AUTO_PUBLISHED")
}

// TestManyEnableOnePost: of effects at the same time, those with the content that is kept succeed.
func TestManyEnableOnePost(t *testing.T) {
	t.Parallel()
	onBoth(t, enableAtOnce[*sql.Tx], enableAtOnce[pgx.Tx])
}

func enableAtOnce[T any](f *fixture[T]) {
	const deals, callers = 10, 8
	for n := range byte(deals) {
		failed := make([]error, callers)
		var all sync.WaitGroup
		for caller := range callers {
			all.Go(func() {
				version := fsm.Some(fsm.JSON(fmt.Sprint(caller % 2)))
				failed[caller] = f.scheduler.EnablePublishing(f.Context(), fsm.Dispatch{}, deal.EnablePublishingEffect{DealID: id(n), Creative: version})
			})
		}
		all.Wait()
		p := f.is(n, posts.Enabled, false)
		for caller, err := range failed {
			if fmt.Sprint(caller%2) == p.Content {
				must(f.T, err)
			} else {
				permanent(f.T, err, posts.ErrConflict)
			}
		}
	}
}
