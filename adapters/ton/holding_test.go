package ton_test

import (
	"testing"

	"github.com/fsmgen/fsmgen/adapters/ton"
)

// TestHolding: an account without code has money too, and one that is not there has none.
func TestHolding(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 1)
	paid := deposit(t, 1)
	n.give(paid, 3*coin)
	n.Settle()
	view, err := n.client.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, err := n.client.Holding(t.Context(), view, paid)
	if want := n.Balance(library(paid)); err != nil || got.Nano != want || want == 0 || got.Last.LT == 0 {
		t.Errorf("got %+v, %v, want %d nano", got, err, want)
	}
	if got, err := n.client.Holding(t.Context(), view, deposit(t, 2)); err != nil || got != (ton.Holding{}) {
		t.Errorf("got %+v, %v of an account that is not there", got, err)
	}
}
