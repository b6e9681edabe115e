package posttest_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/fsmgen/fsmgen/services/deal/posts"
	"github.com/fsmgen/fsmgen/services/deal/posts/posttest"
)

// memory is a channel that can break each rule.
type memory struct {
	mu    sync.Mutex
	posts map[string][]byte
	cut   bool
	breach
}

// breach says which rule a channel breaks.
type breach struct {
	overwrites, refusesTwice, forgets, oneKey, hidesEdits, keepsDeleted, anyKey, anySize, endless, goneWhenCut, permanentWhenCut, quiet, seesNothing bool
}

func (m *memory) key(key string) string {
	if m.oneKey {
		return ""
	}
	return key
}

func (m *memory) ready(ctx context.Context) error {
	switch {
	case !m.endless && ctx.Err() != nil:
		return ctx.Err()
	case m.cut && m.permanentWhenCut:
		return posts.ErrRefused
	case m.cut && !m.goneWhenCut:
		return errors.New("unreachable")
	}
	return nil
}

func (m *memory) check(key string, content []byte) error {
	switch {
	case m.anyKey && m.anySize:
		return nil
	case m.anyKey:
		return posts.CheckPost("key", content)
	case m.anySize:
		return posts.CheckKey(key)
	}
	return posts.CheckPost(key, content)
}

func (m *memory) Publish(ctx context.Context, key string, content []byte) error {
	if err := errors.Join(m.check(key, content), m.ready(ctx)); err != nil {
		return err
	}
	m.mu.Lock()
	there, taken := m.posts[m.key(key)]
	defer m.mu.Unlock()
	switch {
	case m.quiet && taken:
		return nil
	case taken && !m.overwrites && (m.refusesTwice || !slices.Equal(there, content)):
		return posts.ErrConflict
	case !m.forgets:
		m.posts[m.key(key)] = slices.Clone(content)
	}
	return nil
}

func (m *memory) Look(ctx context.Context, key string) (posts.Sight, error) {
	if err := m.check(key, []byte("x")); err != nil {
		return posts.Sight{}, err
	}
	if err := m.ready(ctx); err != nil {
		return posts.Sight{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	content, seen := m.posts[m.key(key)]
	if !seen || m.cut {
		return posts.Sight{Seen: m.seesNothing}, nil
	}
	return posts.Sight{Seen: true, Hash: posts.Hash(content)}, nil
}

func (m *memory) place() posttest.Place {
	return posttest.Place{
		Channel: m,
		Edit: func(key string, content []byte) error {
			if !m.hidesEdits {
				m.posts[m.key(key)] = content
			}
			return nil
		},
		Delete: func(key string) error {
			if !m.keepsDeleted {
				delete(m.posts, m.key(key))
			}
			return nil
		},
		Cut: func() error { m.cut = true; return nil },
	}
}

// TestTheSuiteBites: a channel that keeps the contract passes, and one that breaks a rule fails the
// case of that rule.
func TestTheSuiteBites(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		broken breach
		fails  string // "": none
	}{
		{breach{}, ""},
		{breach{seesNothing: true}, "NothingIsSeenAtFirst"},
		{breach{forgets: true}, "WhatIsPublishedIsSeen"},
		{breach{refusesTwice: true}, "PublishedTwiceIsOnce"},
		{breach{refusesTwice: true}, "TheSameByManyIsNoConflict"},
		{breach{overwrites: true}, "OtherContentIsAConflict"},
		{breach{overwrites: true}, "OfManyOneIsPublished"},
		{breach{quiet: true}, "OtherContentIsAConflict"},
		{breach{oneKey: true}, "KeysAreIndependent"},
		{breach{hidesEdits: true}, "AChangedPostIsSeenChanged"},
		{breach{keepsDeleted: true}, "ADeletedPostIsGone"},
		{breach{anyKey: true}, "KeysAreChecked"},
		{breach{anySize: true}, "ContentHasLimits"},
		{breach{endless: true}, "AnEndedContextPublishesNothing"},
		{breach{goneWhenCut: true}, "AnUnreachablePlaceIsNoEvidence"},
		{breach{permanentWhenCut: true}, "AnUnreachablePlaceIsNoEvidence"},
	} {
		failed := false
		for _, c := range posttest.Cases() {
			m := &memory{posts: map[string][]byte{}, breach: tt.broken}
			err := c.Check(t.Context(), m.place())
			failed = failed || err != nil && c.Name == tt.fails
			if tt.fails == "" && err != nil {
				t.Errorf("%s fails for a channel that keeps the contract: %v", c.Name, err)
			}
		}
		if tt.fails != "" && !failed {
			t.Errorf("%s passes with %+v", tt.fails, tt.broken)
		}
	}
}
