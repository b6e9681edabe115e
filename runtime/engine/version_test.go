package engine_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/engine"
)

// TestVersionIsLostBeforeTheCommit has another writer be first after the version was
// compared: in each way to fire, that is found when the event is stored.
func TestVersionIsLostBeforeTheCommit(t *testing.T) {
	call := engine.Call{By: deal.ByOwner(2).Caller(), IfVersion: 2}
	for name, fire := range map[string]func(s *stage, id string) error{
		"Fire": func(s *stage, id string) error {
			_, err := s.engine.Fire(s.t.Context(), "deal", id, deal.Accept{}, call)
			return err
		},
		"FireTx": func(s *stage, id string) error {
			return s.store.InTx(s.t.Context(), func(tx *sql.Tx) error {
				_, err := s.engine.FireTx(s.t.Context(), tx, "deal", id, deal.Accept{}, call)
				return err
			})
		},
		"Transact": func(s *stage, id string) error {
			return s.engine.Transact(s.t.Context(), func(ctx context.Context, u *engine.Tx[*sql.Tx]) error {
				_, err := u.Fire(ctx, "deal", id, deal.Accept{}, call)
				return err
			})
		},
		"Flush": func(s *stage, id string) error {
			return s.engine.Transact(s.t.Context(), func(ctx context.Context, u *engine.Tx[*sql.Tx]) error {
				if _, err := u.Fire(ctx, "deal", id, deal.Accept{}, call); err != nil {
					return err
				}
				return u.Flush(ctx)
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			id := s.offered("1")
			s.overtake(id)
			err := fire(s, id)
			var lost *engine.VersionError
			if !errors.As(err, &lost) || !errors.Is(err, engine.ErrVersion) || errors.Is(err, engine.ErrConflict) {
				t.Fatalf("got %v", err)
			}
			if want := (engine.VersionError{Machine: "deal", ID: id, IfVersion: 2, Version: 3, State: "NEGOTIATING"}); *lost != want {
				t.Errorf("got %+v, want %+v", *lost, want)
			}
			s.wants("deal", id, "OFFER_PENDING", 2)
		})
	}
}

// overtake has another writer be first once, between what is read and what is
// written. Both are undone together.
func (s *stage) overtake(id string) {
	s.t.Helper()
	var f faulty
	f.save = func(ctx context.Context, tx *sql.Tx) error {
		f.save = nil
		_, err := s.engine.FireTx(ctx, tx, "deal", id, deal.CounterOffer{PriceNano: 90}, owner)
		return err
	}
	s.reopen(&f)
}

// TestForgottenVersionIsNoDemand: a conflict of a transaction that took its event for
// a version back is a conflict as any.
func TestForgottenVersionIsNoDemand(t *testing.T) {
	s := newStage(t)
	id := s.offered("1")
	s.overtake(id)
	regret := errors.New("the caller thinks better of it")
	err := s.engine.Transact(t.Context(), func(ctx context.Context, u *engine.Tx[*sql.Tx]) error {
		err := u.Try(func() error {
			_, err := u.Fire(ctx, "deal", id, deal.Accept{}, engine.Call{By: deal.ByOwner(2).Caller(), IfVersion: 2})
			return errors.Join(err, regret)
		})
		if !errors.Is(err, regret) {
			t.Errorf("trying says %v", err)
		}
		_, err = u.Fire(ctx, "deal", id, deal.Accept{}, owner)
		return err
	})
	if !errors.Is(err, engine.ErrConflict) || errors.Is(err, engine.ErrVersion) {
		t.Fatalf("got %v", err)
	}
}
