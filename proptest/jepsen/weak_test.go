//go:build unix

package jepsen_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// The weaknesses that a store can be given, to see whether the checker finds them.
const (
	ignoresLeases = "ignores leases" // a claim takes what other workers hold
	losesCommits  = "loses commits"  // some transactions are rolled back and reported as committed
	losesMessages = "loses messages" // some commits leave a message out
)

// weakStore is a store with a weakness.
type weakStore[Tx any] struct {
	store.Store[Tx]
	weakness string

	mu     sync.Mutex
	random *rand.Rand
}

// weaken gives a store a weakness; an empty one leaves it as it is.
func weaken[Tx any](s store.Store[Tx], weakness string, seed uint64) store.Store[Tx] {
	if weakness == "" {
		return s
	}
	return &weakStore[Tx]{Store: s, weakness: weakness, random: rand.New(rand.NewPCG(seed, 2))}
}

// applies reports whether a weakness shows this time: one time of so many.
func (s *weakStore[Tx]) applies(weakness string, of int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.weakness == weakness && s.random.IntN(of) == 0
}

func (s *weakStore[Tx]) Claim(ctx context.Context, c store.Claim) ([]store.Task, error) {
	if s.weakness != ignoresLeases {
		return s.Store.Claim(ctx, c)
	}
	deadlines, effects := c, c
	deadlines.Effects, effects.Deadlines = 0, 0
	effects.Now = c.Now.Add(time.Hour)
	due, err := s.Store.Claim(ctx, deadlines)
	if err != nil {
		return nil, err
	}
	taken, err := s.Store.Claim(ctx, effects)
	return append(due, taken...), err
}

func (s *weakStore[Tx]) Settle(ctx context.Context, tx Tx, settlement store.Settlement) error {
	if s.weakness == ignoresLeases && !settlement.Renew.IsZero() {
		return nil
	}
	return s.Store.Settle(ctx, tx, settlement)
}

// errForgotten rolls back.
var errForgotten = errors.New("forgotten")

func (s *weakStore[Tx]) InTx(ctx context.Context, f func(Tx) error) error {
	if !s.applies(losesCommits, 20) {
		return s.Store.InTx(ctx, f)
	}
	err := s.Store.InTx(ctx, func(tx Tx) error {
		if err := f(tx); err != nil {
			return err
		}
		return errForgotten
	})
	if errors.Is(err, errForgotten) {
		return nil
	}
	return err
}

func (s *weakStore[Tx]) Save(ctx context.Context, tx Tx, commits []store.Commit) error {
	commits = slices.Clone(commits)
	for i := range commits {
		commits[i].Last = false // the store must not commit what InTx may roll back
		if n := len(commits[i].Outbox); n > 0 && s.applies(losesMessages, 10) {
			commits[i].Outbox = commits[i].Outbox[:n-1]
		}
	}
	return s.Store.Save(ctx, tx, commits)
}
