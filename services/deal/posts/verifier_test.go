package posts_test

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/internal/progress"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/deal/posts"
)

const day = 24 * time.Hour

// TestAPostThatStays passes at 24 hours, by a look at that time, and no sooner.
func TestAPostThatStays(t *testing.T) {
	t.Parallel()
	onBoth(t, stays[*sql.Tx], stays[pgx.Tx])
}

func stays[T any](f *fixture[T]) {
	f.verifying(1)
	f.looks(1)
	f.until(day - time.Minute)
	f.fired()
	f.is(1, posts.Verifying, true)
	f.until(day)
	f.fired("VERIFICATION_PASSED")
	f.is(1, posts.Passed, false)
	_, looks := f.post(1)
	if n := len(looks); n != 145 || !looks[n-1].At.Equal(begin.Add(day)) { // each 10 minutes
		f.Errorf("there are %d looks, the last %+v", n, looks[n-1])
	}
	f.deleted(1)
	f.until(day + time.Hour)
	f.fired("VERIFICATION_PASSED")
	must(f.T, f.verifier.StartVerification(f.Context(), fsm.Dispatch{}, deal.StartVerificationEffect{DealID: id(1)}))
	f.is(1, posts.Passed, false)
}

// TestAPostThatGoes fails, a minute after it was missed.
func TestAPostThatGoes(t *testing.T) {
	t.Parallel()
	onBoth(t, func(f *fixture[*sql.Tx]) { goes(f, func() { f.deleted(1) }) }, func(f *fixture[pgx.Tx]) { goes(f, func() { f.deleted(1) }) })
}

// TestAPostThatIsEdited fails, too.
func TestAPostThatIsEdited(t *testing.T) {
	t.Parallel()
	onBoth(t, func(f *fixture[*sql.Tx]) { goes(f, func() { f.edited(1, content+" ") }) }, func(f *fixture[pgx.Tx]) { goes(f, func() { f.edited(1, content+" ") }) })
}

func goes[T any](f *fixture[T], change func()) {
	f.verifying(1)
	f.looks(1)
	f.until(time.Hour)
	change()
	f.until(time.Hour + config.Every)
	f.is(1, posts.Verifying, true)
	f.fired()
	f.until(time.Hour + config.Every + time.Minute)
	f.is(1, posts.Failed, false)
	f.until(2 * day)
	f.fired("VERIFICATION_FAILED")
}

// TestOneWrongAnswer of a channel is no failure, and no success either.
func TestOneWrongAnswer(t *testing.T) {
	t.Parallel()
	onBoth(t, wrongAnswer[*sql.Tx], wrongAnswer[pgx.Tx])
}

func wrongAnswer[T any](f *fixture[T]) {
	f.verifying(1)
	f.deleted(1)
	f.looks(1)
	f.edited(1, content)
	f.until(2 * day)
	f.fired()
	if p := f.is(1, posts.Unproven, false); p.Reason == "" {
		f.Errorf("got %+v", p)
	}
}

// TestErrorsAreNoLooks: while the channel can't be reached nothing is decided. A time that is shorter
// than the gap changes nothing, a longer one leaves the delivery unproven.
func TestErrorsAreNoLooks(t *testing.T) {
	t.Parallel()
	onBoth(t, errorsAreNoLooks[*sql.Tx], errorsAreNoLooks[pgx.Tx])
}

func errorsAreNoLooks[T any](f *fixture[T]) {
	f.verifying(1)
	f.looks(1)
	away := func(from, to time.Duration) {
		f.until(from)
		f.channel.on(func() error { return errors.New("unreachable") }, nil, nil)
		_, before := f.post(1)
		f.until(to)
		if _, after := f.post(1); len(after) != len(before) {
			f.Errorf("%d looks at an unreachable channel", len(after)-len(before))
		}
		f.channel.on(nil, nil, nil)
	}
	away(2*time.Hour, 2*time.Hour+50*time.Minute)
	f.until(day)
	f.fired("VERIFICATION_PASSED")

	f.clock.Set(begin)
	f.verifying(2)
	f.looks(1)
	away(2*time.Hour, 3*time.Hour+time.Minute)
	f.until(2 * day)
	f.fired("VERIFICATION_PASSED")
}

// TestADeadVerifier makes no delivery: neither by coming back at the end nor by never having looked.
func TestADeadVerifier(t *testing.T) {
	t.Parallel()
	onBoth(t, dead[*sql.Tx], dead[pgx.Tx])
}

func dead[T any](f *fixture[T]) {
	f.verifying(1)
	f.verifying(2)
	f.clock.Set(begin.Add(day)) // nothing has looked
	f.looks(2)
	f.is(1, posts.Unproven, false)
	f.is(2, posts.Unproven, false)
	f.until(2 * day)
	f.fired()
}

// TestAVerifierThatComesBack to a post that is gone has evidence of that.
func TestAVerifierThatComesBack(t *testing.T) {
	t.Parallel()
	onBoth(t, comesBack[*sql.Tx], comesBack[pgx.Tx])
}

func comesBack[T any](f *fixture[T]) {
	f.verifying(1)
	f.deleted(1)
	f.clock.Set(begin.Add(day - time.Hour))
	f.looks(1)
	f.clock.Advance(time.Minute)
	f.looks(1)
	f.fired("VERIFICATION_FAILED")
}

// TestAClockThatJumps pays nothing: forward it leaves a gap, and backward no look is recorded until
// it has caught up.
func TestAClockThatJumps(t *testing.T) {
	t.Parallel()
	onBoth(t, jumps[*sql.Tx], jumps[pgx.Tx])
}

func jumps[T any](f *fixture[T]) {
	f.verifying(1)
	f.verifying(2)
	f.looks(2)
	f.clock.Set(begin.Add(-time.Hour))
	f.looks(0)
	f.until(50 * time.Minute)
	_, looks := f.post(1)
	for n, l := range looks {
		if n > 0 && !looks[n-1].At.Before(l.At) || l.At.Before(begin) {
			f.Errorf("look %d is at %s", n, l.At)
		}
	}
	f.clock.Set(begin.Add(30 * day))
	f.looks(2)
	f.clock.Set(begin.Add(time.Hour))
	f.until(2 * day)
	f.fired()
	f.is(1, posts.Unproven, false)
}

// TestALookFromTheFuture: a process whose clock is ahead has looked, and one whose clock is right looks
// next. Its looks are not recorded, since they would stand before the other.
func TestALookFromTheFuture(t *testing.T) {
	t.Parallel()
	onBoth(t, future[*sql.Tx], future[pgx.Tx])
}

func future[T any](f *fixture[T]) {
	f.verifying(1)
	f.clock.Set(begin.Add(time.Hour))
	f.looks(1)
	f.clock.Set(begin)
	must(f.T, f.says("UPDATE deal_posts SET due_at = '2026-01-01T00:00:00.000000Z'"))
	f.looks(1)
	if _, looks := f.post(1); len(looks) != 1 {
		f.Errorf("there are %d looks", len(looks))
	}
	f.until(day + time.Hour)
	f.fired("VERIFICATION_PASSED")
}

// TestADealThatIsDecided has its post looked at no more.
func TestADealThatIsDecided(t *testing.T) {
	t.Parallel()
	onBoth(t, decided[*sql.Tx], decided[pgx.Tx])
}

func decided[T any](f *fixture[T]) {
	f.verifying(1)
	f.verifying(2)
	f.looks(2)
	f.deals.set(id(1), deal.Disputed)
	f.until(config.Every)
	if p := f.is(1, posts.Dropped, false); p.Reason == "" || !p.PublishedAt.IsSet {
		f.Errorf("got %+v", p)
	}
	// Between the last look and the event.
	f.channel.on(nil, nil, func() error {
		if f.clock.Now().Equal(begin.Add(day)) {
			f.deals.set(id(2), deal.Disputed)
		}
		return nil
	})
	f.until(day)
	if p := f.is(2, posts.Passed, false); p.Reason == "" {
		f.Errorf("got %+v", p)
	}
	f.until(2 * day)
	f.fired()
}

// TestRunEndsWithItsContext, and does its work until then.
func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	onBoth(t, runs[*sql.Tx], runs[pgx.Tx])
}

func runs[T any](f *fixture[T]) {
	f.scheduled(1, begin)
	f.verifying(2)
	ctx, cancel := context.WithCancel(f.Context())
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		var all sync.WaitGroup
		all.Go(func() { f.scheduler.Run(ctx, f.deals) })
		all.Go(func() { f.verifier.Run(ctx, f.deals) })
		all.Wait()
	}()
	progress.Until(f.T, "a publication and a look", func() (any, bool) {
		p, _ := f.post(1)
		_, looks := f.post(2)
		return p, p.State == posts.Published && !p.Due.IsSet && len(looks) > 0
	})
	cancel()
	progress.Receive(f.T, "the end of the loops", ended)
}

// TestConfigs that promise what they can't keep are refused.
func TestConfigs(t *testing.T) {
	t.Parallel()
	for _, c := range []posts.Config{
		{Every: -1}, {Poll: -1}, {Lease: -1}, {Retry: -1}, {Batch: -1},
		{Terms: posts.Terms{Retention: -1}}, {Terms: posts.Terms{Gap: -1}}, {Terms: posts.Terms{Confirm: -1}},
		{Every: time.Hour}, {Terms: posts.Terms{Gap: 11 * time.Minute}}, {Terms: posts.Terms{Confirm: 11 * time.Minute}},
	} {
		_, scheduler := posts.NewScheduler[*sql.Tx](nil, posts.SQLite(), nil, c)
		if _, verifier := posts.NewVerifier[*sql.Tx](nil, posts.SQLite(), nil, c); scheduler == nil || verifier == nil {
			t.Errorf("%+v is taken", c)
		}
	}
	if _, err := posts.NewVerifier[*sql.Tx](nil, posts.SQLite(), nil, posts.Config{}); err != nil {
		t.Error(err)
	}
}
