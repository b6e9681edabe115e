package crash

import (
	"context"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// emptyStore has transactions, and nothing to claim.
type emptyStore struct{ store.Store[int] }

func (emptyStore) InTx(_ context.Context, f func(int) error) error { return f(1) }

func (emptyStore) Claim(context.Context, store.Claim) ([]store.Task, error) { return nil, nil }

// A claim beside a transaction does not say that its worker has seen the time: the
// transaction may still get to the failpoint.
func TestClaimBesideATransaction(t *testing.T) {
	t.Parallel()
	seen := 0
	s := newFailpointStore[int](emptyStore{}, &failpoints{})
	s.claims = func(time.Time) { seen++ }
	claim := func() {
		t.Helper()
		if _, err := s.Claim(t.Context(), store.Claim{}); err != nil {
			t.Fatal(err)
		}
	}
	err := s.InTx(t.Context(), func(int) error {
		claim()
		return nil
	})
	if err != nil || seen != 0 {
		t.Fatalf("%d claims were seen beside the transaction, want none; %v", seen, err)
	}
	if claim(); seen != 1 {
		t.Fatalf("%d claims were seen after the transaction, want 1", seen)
	}
}
