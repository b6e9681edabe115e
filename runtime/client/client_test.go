package client_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/client"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/enginetest"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// shop is an engine with deals whose effects are not asked for.
type shop struct {
	*enginetest.Engine
	deals *deal.Client[*sql.Tx]
}

func newShop(t *testing.T) shop {
	t.Helper()
	e := enginetest.New(t, enginetest.NewFake(t, deal.Define[*sql.Tx](nil, deal.DefaultParams())))
	return shop{e, deal.In(e)}
}

// offered makes a deal that is offered to owner 8.
func (s shop) offered(t *testing.T, last string) fsm.UUID {
	t.Helper()
	id := idOf(t, last)
	_, created := s.deals.Create(t.Context(), id, deal.Create{OwnerID: 8, PriceNano: 100}, deal.ByAdvertiser(7))
	_, offered := s.deals.SubmitOffer(t.Context(), id, deal.ByAdvertiser(7))
	if err := errors.Join(created, offered); err != nil {
		t.Fatal(err)
	}
	return id
}

func idOf(t *testing.T, last string) (id fsm.UUID) {
	t.Helper()
	if err := fsm.Into(&id).Scan("5f0c3a0e-0000-4000-8000-00000000000" + last); err != nil {
		t.Fatal(err)
	}
	return id
}

// TestACallIsTyped: the record of an outcome is the machine's, a key answers again, and
// who fires is an option.
func TestACallIsTyped(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	id := s.offered(t, "1")
	for range 2 {
		o, err := s.deals.Accept(t.Context(), id, deal.ByOwner(8), engine.Key("accept-1"), engine.Correlation("talk-1"))
		if err != nil {
			t.Fatal(err)
		}
		if o.Record.State != deal.Accepted || o.Record.OwnerID != 8 || o.Correlation != "talk-1" {
			t.Errorf("got %+v of %+v", o, o.Record)
		}
	}
	_, err := s.deals.Accept(t.Context(), id, deal.ByOwner(9))
	var refused *fsm.Rejection
	if !errors.As(err, &refused) {
		t.Errorf("a stranger gets %v", err)
	}
	if _, err := s.deals.Cancel(t.Context(), id, deal.ByAdvertiser(7), engine.IfVersion(1)); !errors.Is(err, engine.ErrVersion) {
		t.Errorf("at another version it is %v", err)
	}
	if o, err := s.deals.Fire(t.Context(), id, deal.Cancel{}, deal.ByAdvertiser(7)); err != nil || o.Record.State != deal.Cancelled {
		t.Errorf("an event of the closed set: %v, %+v", err, o.Record)
	}
}

// TestReading: records and histories come typed, page by page.
func TestReading(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	var ids []fsm.UUID
	for _, last := range []string{"1", "2", "3"} {
		ids = append(ids, s.offered(t, last))
	}
	if _, err := s.deals.Accept(t.Context(), ids[1], deal.ByOwner(8)); err != nil {
		t.Fatal(err)
	}
	one, err := s.deals.Get(t.Context(), ids[1])
	if err != nil || one.Record.State != deal.Accepted || one.Version != 3 {
		t.Errorf("Get: %v, %+v", err, one)
	}
	if _, err := s.deals.Get(t.Context(), idOf(t, "9")); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("Get of none: %v", err)
	}
	page, err := s.deals.List(t.Context(), deal.OfferPending, &ids[0], 10)
	if err != nil || len(page) != 1 || page[0].Record.DealID != ids[2] {
		t.Errorf("List: %v, %+v", err, page)
	}
	var all []fsm.UUID
	for each, err := range s.deals.All(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, each.Record.DealID)
	}
	if len(all) != len(ids) || all[2] != ids[2] {
		t.Errorf("All: %v", all)
	}
	history, err := s.deals.History(t.Context(), ids[1], 1, 10)
	if err != nil || len(history) != 2 {
		t.Fatalf("History: %v, %+v", err, history)
	}
	last := history[1]
	if _, ok := last.Event.(deal.Accept); !ok || last.From != deal.OfferPending || last.To != deal.Accepted || last.By != deal.ByOwner(8).Caller() || last.Err != nil {
		t.Errorf("the last step is %+v", last)
	}
}

// TestLegal: what is legal is told for an actor, with reasons for the rest.
func TestLegal(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	id := s.offered(t, "1")
	for actor, want := range map[deal.Actor]bool{deal.ByOwner(8): true, deal.ByOwner(9): false} {
		verdicts, now, err := s.deals.Legal(t.Context(), id, actor)
		if err != nil || now.Record.State != deal.OfferPending {
			t.Fatalf("%v, %+v", err, now)
		}
		for _, v := range verdicts {
			if v.Event == deal.EventAccept && (v.Legal != want || v.Why == nil != want) {
				t.Errorf("for %+v it is %+v", actor, v)
			}
		}
		if len(verdicts) != len(deal.Events()) {
			t.Errorf("%d verdicts", len(verdicts))
		}
	}
}

var errUndone = errors.New("undone")

// TestTransactions: calls in a transaction of the engine or of the caller come to stay
// together, or not at all.
func TestTransactions(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	id := s.offered(t, "1")
	for _, undone := range []error{errUndone, nil} {
		err := s.Transact(t.Context(), func(ctx context.Context, tx *engine.Tx[*sql.Tx]) error {
			if _, err := deal.Within(tx).Accept(ctx, id, deal.ByOwner(8)); err != nil {
				return err
			}
			return undone
		})
		if !errors.Is(err, undone) {
			t.Errorf("Transact: %v", err)
		}
		s.wants(t, id, undone != nil, deal.OfferPending, deal.Accepted)
	}
	for _, undone := range []error{errUndone, nil} {
		err := s.Store.InTx(t.Context(), func(tx *sql.Tx) error {
			o, err := s.deals.Tx(tx).Cancel(t.Context(), id, deal.ByAdvertiser(7))
			if err == nil && undone == nil {
				s.deals.Committed(t.Context(), o)
			}
			return errors.Join(err, undone)
		})
		if !errors.Is(err, undone) {
			t.Errorf("FireTx: %v", err)
		}
		s.wants(t, id, undone != nil, deal.Accepted, deal.Cancelled)
	}
}

// wants fails unless the deal is in one of two states.
func (s shop) wants(t *testing.T, id fsm.UUID, before bool, first, second deal.State) {
	t.Helper()
	want := second
	if before {
		want = first
	}
	if found, err := s.deals.Get(t.Context(), id); err != nil || found.Record.State != want {
		t.Errorf("%v, it is in %s, want %s", err, found.Record.State, want)
	}
}

// TestBatch: each event of a batch has an outcome of its own.
func TestBatch(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	id := s.offered(t, "1")
	type event = client.Event[fsm.UUID, deal.Payload]
	outcomes, err := s.deals.FireBatch(t.Context(),
		event{ID: idOf(t, "2"), Event: deal.Create{OwnerID: 8, PriceNano: 1}, Call: client.CallOf(deal.ByAdvertiser(7)), Create: true},
		event{ID: id, Event: deal.Accept{}, Call: client.CallOf(deal.ByOwner(9))},
		event{ID: id, Event: deal.Accept{}, Call: client.CallOf(deal.ByOwner(8))},
	)
	if err != nil || len(outcomes) != 3 {
		t.Fatalf("%v, %+v", err, outcomes)
	}
	var refused *fsm.Rejection
	if outcomes[0].Record.State != deal.Draft || !errors.As(outcomes[1].Err, &refused) || outcomes[2].Record.State != deal.Accepted {
		t.Errorf("got %+v", outcomes)
	}
}

// other is an engine whose records are those of another package.
type other struct{ client.Engine[*sql.Tx] }

func (other) Fire(context.Context, string, string, fsm.Payload, client.Call) (client.Outcome[fsm.Record], error) {
	return client.Outcome[fsm.Record]{Record: foreign{}}, nil
}

type foreign struct{ fsm.Record }

// TestAnEngineOfAnotherPackage: a record of another type is an error that says what to do.
func TestAnEngineOfAnotherPackage(t *testing.T) {
	t.Parallel()
	_, err := deal.In(other{}).Accept(t.Context(), idOf(t, "1"))
	if err == nil || !strings.Contains(err.Error(), "the engine has a client_test.foreign, and not a *deal.Record") {
		t.Errorf("got %v", err)
	}
}
