package posts_test

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/services/deal/posts"
)

var errCrash = errors.New("the process ends here")

// TestSchedulerCrashes: wherever a process ends, another one publishes once, and fires once.
func TestSchedulerCrashes(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"before publishing", "after publishing", "before the event", "after the event"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(f *fixture[*sql.Tx]) { crashed(f, point) }, func(f *fixture[pgx.Tx]) { crashed(f, point) })
		})
	}
}

// crashes ends a process at a point: its context ends, so it writes nothing any more.
func (f *fixture[T]) crashes(point string, round func(context.Context, posts.Deals) (int, error)) {
	f.Helper()
	ctx, cancel := context.WithCancel(f.Context())
	defer cancel()
	end := func() error { cancel(); return errCrash }
	switch point {
	case "before publishing", "before the look":
		f.channel.on(end, nil, nil)
	case "after publishing":
		f.channel.on(nil, end, nil)
	case "after the look":
		f.channel.on(nil, nil, end)
	case "before the event":
		f.deals.on(end, nil)
	case "after the event":
		f.deals.on(nil, end)
	}
	if due, err := round(ctx, f.deals); due != 1 || !errors.Is(err, errCrash) {
		f.Fatalf("%d were due, %v", due, err)
	}
	f.channel.on(nil, nil, nil)
	f.deals.on(nil, nil)
}

func crashed[T any](f *fixture[T], point string) {
	f.scheduled(1, begin)
	f.crashes(point, f.scheduler.Round)
	f.process = f.another(f.db.Again(f.T))
	f.publishes(0) // the lease of the dead process
	f.clock.Advance(config.Lease)
	f.publishes(1)
	f.publishes(0)
	f.fired("AUTO_PUBLISHED")
	want := begin
	if point == "before publishing" || point == "after publishing" {
		want = begin.Add(config.Lease)
	}
	if p := f.is(1, posts.Published, false); !p.PublishedAt.V.Equal(want) {
		f.Errorf("got %+v", p)
	}
	if sight, err := f.channel.Look(f.Context(), key); err != nil || sight.Hash != posts.Hash([]byte(content)) {
		f.Errorf("the channel has %+v, %v", sight, err)
	}
}

// TestTwoSchedulersAtOnce publish each post once.
func TestTwoSchedulersAtOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, atOnce[*sql.Tx], atOnce[pgx.Tx])
}

func atOnce[T any](f *fixture[T]) {
	const many = 40
	for n := range byte(many) {
		f.scheduled(n, begin)
	}
	var all sync.WaitGroup
	for range 2 {
		p := f.another(f.db.Again(f.T))
		all.Go(func() {
			for {
				due, err := p.scheduler.Round(f.Context(), f.deals)
				if err != nil {
					f.Error(err)
				}
				if due == 0 || err != nil {
					return
				}
			}
		})
	}
	all.Wait()
	f.publishes(0)
	if f.channel.publications != many || len(f.deals.accepted) != many {
		f.Errorf("%d posts were published %d times, with %d events", many, f.channel.publications, len(f.deals.accepted))
	}
	for n := range byte(many) {
		f.is(n, posts.Published, false)
	}
}

// TestAnExpiredLease: a process that sleeps while it publishes, and another that publishes meanwhile,
// make one post, with the time of the first record, and one event. If the first fails when it wakes up,
// it leaves to the other what that has done.
func TestAnExpiredLease(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]error{"succeeds": nil, "fails": errors.New("the connection is gone")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(f *fixture[*sql.Tx]) { expired(f, failure) }, func(f *fixture[pgx.Tx]) { expired(f, failure) })
		})
	}
}

func expired[T any](f *fixture[T], failure error) {
	f.scheduled(1, begin)
	asleep, awake := make(chan struct{}), make(chan struct{})
	f.channel.on(nil, func() error { close(asleep); <-awake; return failure }, nil)
	slept := make(chan error, 1)
	go func() {
		_, err := f.scheduler.Round(f.Context(), f.deals)
		slept <- err
	}()
	<-asleep
	f.channel.on(nil, nil, nil)
	other := f.another(f.db.Again(f.T))
	f.clock.Advance(config.Lease)
	if due, err := other.scheduler.Round(f.Context(), f.deals); due != 1 || err != nil {
		f.Errorf("%d were due, %v", due, err)
	}
	f.clock.Advance(time.Hour)
	close(awake)
	if err := <-slept; !errors.Is(err, failure) {
		f.Errorf("got %v, want %v", err, failure)
	}
	if p := f.is(1, posts.Published, false); !p.PublishedAt.V.Equal(begin.Add(config.Lease)) {
		f.Errorf("got %+v", p)
	}
	f.publishes(0)
	f.fired("AUTO_PUBLISHED")
}

// TestVerifierCrashes: wherever a process ends at the last look, another one decides once.
func TestVerifierCrashes(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"before the look", "after the look", "before the event", "after the event"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(f *fixture[*sql.Tx]) { verifierCrashed(f, point) }, func(f *fixture[pgx.Tx]) { verifierCrashed(f, point) })
		})
	}
}

func verifierCrashed[T any](f *fixture[T], point string) {
	f.verifying(1)
	f.looks(1)
	f.until(day - time.Minute)
	f.clock.Set(begin.Add(day))
	f.crashes(point, f.verifier.Round)
	f.process = f.another(f.db.Again(f.T))
	f.looks(0) // the lease of the dead process
	f.clock.Advance(config.Lease)
	f.looks(1)
	f.looks(0)
	f.fired("VERIFICATION_PASSED")
	want := begin.Add(day)
	if point == "before the look" || point == "after the look" {
		want = want.Add(config.Lease)
	}
	if _, looks := f.post(1); len(looks) != 145 || !looks[144].At.Equal(want) {
		f.Errorf("there are %d looks, the last %+v", len(looks), looks[len(looks)-1])
	}
	f.is(1, posts.Passed, false)
}

// TestTwoVerifiersAtOnce look at each post once a time, and decide once.
func TestTwoVerifiersAtOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, verifiersAtOnce[*sql.Tx], verifiersAtOnce[pgx.Tx])
}

func verifiersAtOnce[T any](f *fixture[T]) {
	const many = 8
	for n := range byte(many) {
		f.verifying(n)
	}
	processes := []*process[T]{f.another(f.db.Again(f.T)), f.another(f.db.Again(f.T))}
	const each = 48 * time.Minute
	for since := time.Duration(0); since <= day; since += each {
		f.clock.Set(begin.Add(since))
		var all sync.WaitGroup
		for _, p := range processes {
			all.Go(func() {
				if _, err := p.verifier.Round(f.Context(), f.deals); err != nil {
					f.Error(err)
				}
			})
		}
		all.Wait()
	}
	if n := len(f.deals.accepted); n != many {
		f.Errorf("%d events of %d deals", n, many)
	}
	for n := range byte(many) {
		f.is(n, posts.Passed, false)
		if _, looks := f.post(n); len(looks) != int(day/each)+1 {
			f.Errorf("there are %d looks", len(looks))
		}
	}
}
