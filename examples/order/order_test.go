package main

import (
	"database/sql"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/examples/order/generated/order"
	"github.com/fsmgen/fsmgen/runtime/enginetest"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// TestAnOrderExpiresAfterTwoDays moves the clock to both sides of the deadline.
func TestAnOrderExpiresAfterTwoDays(t *testing.T) {
	t.Parallel()
	e := enginetest.New(t, order.Define[*sql.Tx](mailer{}, order.DefaultParams()))
	orders, id := order.In(e), fsm.UUID{6: 0x40, 8: 0x80, 15: 9}
	if _, err := orders.Create(t.Context(), id, order.Create{Total: 100}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []order.State{order.Open, order.Expired} {
		e.Clock.Advance(order.DefaultParams().TimeToPay - time.Minute)
		enginetest.Drain(t, e)
		found, err := orders.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if found.Record.State != want {
			t.Fatalf("the order is %s, want %s", found.Record.State, want)
		}
	}
}
