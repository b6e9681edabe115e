package main

import (
	"database/sql"
	"errors"
	"testing"

	"github.com/fsmgen/fsmgen/adapters/sqlite"
	"github.com/fsmgen/fsmgen/examples/booking/generated/concert"
)

// newOffice returns an office with one seat for Bach and none that is sold.
func newOffice(t *testing.T) office {
	t.Helper()
	store, err := sqlite.Temporary(t.Context(), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	o, err := open(t.Context(), store)
	if err == nil {
		_, err = o.concerts.Create(t.Context(), bach, concert.Create{Title: "Bach", Seats: 1})
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestARowThatFailsTakesNoSeat books for a customer who has a row already: the insert fails, and the
// seat stays free.
func TestARowThatFailsTakesNoSeat(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	if err := o.book(t.Context(), "Ada", bach); err != nil {
		t.Fatal(err)
	}
	if _, err := o.concerts.GiveBack(t.Context(), bach); err != nil {
		t.Fatal(err)
	}
	if err := o.book(t.Context(), "Ada", bach); err == nil {
		t.Fatal("Ada has two bookings")
	}
	wants(t, o, concert.OnSale, 1)
}

// TestAnErrorAfterTheEventTakesItBack fails the transaction of the caller after the event: the
// step, the event that it raised and the announcement are rolled back with it.
func TestAnErrorAfterTheEventTakesItBack(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	failure := errors.New("the caller changed its mind")
	err := o.store.InTx(t.Context(), func(tx *sql.Tx) error {
		reserved, err := o.concerts.Tx(tx).Reserve(t.Context(), bach)
		if err != nil || reserved.Record.State != concert.SoldOut {
			t.Errorf("the last seat led to %s: %v", reserved.Record.State, err)
		}
		return failure
	})
	if !errors.Is(err, failure) {
		t.Fatal(err)
	}
	wants(t, o, concert.OnSale, 1)
	if n, err := o.engine.Step(t.Context()); n != 0 || err != nil {
		t.Errorf("%d effects are left, %v", n, err)
	}
}

// wants fails the test unless Bach has a state and a number of seats.
func wants(t *testing.T, o office, state concert.State, seats int64) {
	t.Helper()
	found, err := o.concerts.Get(t.Context(), bach)
	if err != nil {
		t.Fatal(err)
	}
	if r := found.Record; r.State != state || r.Seats != seats {
		t.Fatalf("Bach is %s with %d seats, want %s with %d", r.State, r.Seats, state, seats)
	}
}
