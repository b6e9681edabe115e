package posttest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/fsmgen/fsmgen/services/deal/posts"
)

// Place is an empty place for posts, with a channel to it and what happens behind the channel's back.
type Place struct {
	posts.Channel
	// Edit gives the post of a key other content.
	Edit func(key string, content []byte) error
	// Delete removes the post of a key.
	Delete func(key string) error
	// Cut makes the place unreachable.
	Cut func() error
}

// Case is one rule of the contract.
type Case struct {
	Name string
	// Check returns an error if the channel breaks the rule.
	Check func(context.Context, Place) error
}

// Run checks a channel. Each call of open returns another place.
func Run(t *testing.T, open func(t *testing.T) Place) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			if err := c.Check(t.Context(), open(t)); err != nil {
				t.Error(err)
			}
		})
	}
}

// Cases returns all rules of the contract.
func Cases() []Case {
	return []Case{
		{"NothingIsSeenAtFirst", nothing},
		{"WhatIsPublishedIsSeen", published},
		{"PublishedTwiceIsOnce", twice},
		{"OtherContentIsAConflict", conflict},
		{"KeysAreIndependent", independent},
		{"OfManyOneIsPublished", many},
		{"TheSameByManyIsNoConflict", alike},
		{"AChangedPostIsSeenChanged", edited},
		{"ADeletedPostIsGone", deleted},
		{"KeysAreChecked", badKeys},
		{"ContentHasLimits", limits},
		{"AnEndedContextPublishesNothing", ended},
		{"AnUnreachablePlaceIsNoEvidence", unreachable},
	}
}

const key = "0190b6c2-0000-7000-8000-000000000001"

var first, second = []byte(`{"text":"first"}`), []byte(`{"text":"second"}`)

// wrong returns an error that says what a channel has done, and what it returned with it.
func wrong(returned error, format string, args ...any) error {
	done := fmt.Sprintf(format, args...)
	if returned == nil {
		return errors.New(done + ": no error")
	}
	return fmt.Errorf("%s: %w", done, returned)
}

// sees returns an error unless a look finds the content, nil for none.
func sees(ctx context.Context, p Place, key string, content []byte) error {
	want := posts.Sight{}
	if content != nil {
		want = posts.Sight{Seen: true, Hash: posts.Hash(content)}
	}
	if got, err := p.Look(ctx, key); err != nil || got != want {
		return wrong(err, "a look at %s found %+v, want %+v", key, got, want)
	}
	return nil
}

func publish(ctx context.Context, p Place, key string, content []byte) error {
	if err := p.Publish(ctx, key, content); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	return nil
}

func nothing(ctx context.Context, p Place) error { return sees(ctx, p, key, nil) }

func published(ctx context.Context, p Place) error {
	for n, content := range [][]byte{first, {0}, []byte("\xff\x00\r\n \n"), []byte(strings.Repeat("a\r\n", 10_000))} {
		key := fmt.Sprint(key, "_", n)
		if err := errors.Join(publish(ctx, p, key, content), sees(ctx, p, key, content)); err != nil {
			return err
		}
	}
	return nil
}

func twice(ctx context.Context, p Place) error {
	return errors.Join(publish(ctx, p, key, first), publish(ctx, p, key, first), sees(ctx, p, key, first))
}

func conflict(ctx context.Context, p Place) error {
	if err := publish(ctx, p, key, first); err != nil {
		return err
	}
	if err := p.Publish(ctx, key, second); !errors.Is(err, posts.ErrConflict) {
		return wrong(err, "another content under the same key is no ErrConflict")
	}
	return sees(ctx, p, key, first)
}

func independent(ctx context.Context, p Place) error {
	names := []string{"a", "A", "a-", "-a", "a_", "__a", "9", key, strings.Repeat("k", 128)}
	var problems []error
	for _, name := range names {
		problems = append(problems, publish(ctx, p, name, []byte("of "+name)))
	}
	for _, name := range names {
		problems = append(problems, sees(ctx, p, name, []byte("of "+name)))
	}
	return errors.Join(problems...)
}

const callers = 16

// together calls Publish with contents of several callers at the same time.
func together(ctx context.Context, p Place, content func(n int) []byte) []error {
	failed := make([]error, callers)
	start := make(chan struct{})
	var all sync.WaitGroup
	for n := range callers {
		all.Go(func() {
			<-start
			failed[n] = p.Publish(ctx, key, content(n))
		})
	}
	close(start)
	all.Wait()
	return failed
}

func many(ctx context.Context, p Place) error {
	content := func(n int) []byte { return fmt.Append(nil, "by caller ", n) }
	winner := -1
	for n, err := range together(ctx, p, content) {
		switch {
		case err == nil && winner >= 0:
			return fmt.Errorf("callers %d and %d have both published", winner, n)
		case err == nil:
			winner = n
		case !errors.Is(err, posts.ErrConflict):
			return wrong(err, "caller %d got no ErrConflict", n)
		}
	}
	if winner < 0 {
		return errors.New("no caller has published")
	}
	return sees(ctx, p, key, content(winner))
}

func alike(ctx context.Context, p Place) error {
	failed := together(ctx, p, func(int) []byte { return first })
	return errors.Join(append(failed, sees(ctx, p, key, first))...)
}

func edited(ctx context.Context, p Place) error {
	large := []byte(strings.Repeat("x", posts.MaxContent+1))
	for n, content := range [][]byte{second, append([]byte(" "), first...), {}, large} {
		key := fmt.Sprint(key, "_", n)
		if err := errors.Join(publish(ctx, p, key, first), p.Edit(key, content)); err != nil {
			return err
		}
		if sight, err := p.Look(ctx, key); err != nil || !sight.Seen || sight.Hash == posts.Hash(first) {
			return wrong(err, "after an edit to %d bytes a look found %+v", len(content), sight)
		}
	}
	return nil
}

func deleted(ctx context.Context, p Place) error {
	return errors.Join(publish(ctx, p, key, first), p.Delete(key), sees(ctx, p, key, nil))
}

func badKeys(ctx context.Context, p Place) error {
	for _, key := range []string{"", ".", "..", "../a", "a/b", `a\b`, "a.json", "a?b", "a#b", "a%2fb", "a b", "ä", "a\x00", strings.Repeat("k", 129)} {
		if err := p.Publish(ctx, key, first); !errors.Is(err, posts.ErrRefused) {
			return wrong(err, "publishing with the key %q is not ErrRefused", key)
		}
		if _, err := p.Look(ctx, key); !errors.Is(err, posts.ErrRefused) {
			return wrong(err, "a look with the key %q is not ErrRefused", key)
		}
	}
	return nil
}

func limits(ctx context.Context, p Place) error {
	largest := []byte(strings.Repeat("x", posts.MaxContent))
	for _, content := range [][]byte{nil, {}, append(largest, 'x')} {
		if err := p.Publish(ctx, key, content); !errors.Is(err, posts.ErrRefused) {
			return wrong(err, "publishing %d bytes is not ErrRefused", len(content))
		}
		if err := sees(ctx, p, key, nil); err != nil {
			return err
		}
	}
	return errors.Join(publish(ctx, p, key, largest), sees(ctx, p, key, largest))
}

func ended(ctx context.Context, p Place) error {
	over, cancel := context.WithCancel(ctx)
	cancel()
	if err := p.Publish(over, key, first); !errors.Is(err, context.Canceled) {
		return wrong(err, "publishing with a context that has ended")
	}
	if _, err := p.Look(over, key); !errors.Is(err, context.Canceled) {
		return wrong(err, "a look with a context that has ended")
	}
	return sees(ctx, p, key, nil)
}

func unreachable(ctx context.Context, p Place) error {
	if err := errors.Join(publish(ctx, p, key, first), p.Cut()); err != nil {
		return err
	}
	for _, key := range []string{key, "another"} {
		if sight, err := p.Look(ctx, key); err == nil || posts.Permanent(err) {
			return wrong(err, "a look at an unreachable place found %+v", sight)
		}
		if err := p.Publish(ctx, key, first); err == nil || posts.Permanent(err) {
			return wrong(err, "publishing at an unreachable place")
		}
	}
	return nil
}
