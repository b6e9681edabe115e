package ledger_test

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/fsmgen/fsmgen/services/deal/ledger"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		terms  ledger.Terms
		escrow int64
		want   ledger.Shares
	}{
		{ledger.Terms{}, 1, ledger.Shares{Payout: 1}},
		{ledger.Terms{Commission: 250}, 1000, ledger.Shares{Payout: 975, Commission: 25}},
		{ledger.Terms{Commission: 250}, 39, ledger.Shares{Payout: 39}},                // 0.975 nano
		{ledger.Terms{Commission: 250}, 79, ledger.Shares{Payout: 78, Commission: 1}}, // 1.975 nano
		{ledger.Terms{Commission: 250, Fees: 10}, 1000, ledger.Shares{Payout: 965, Commission: 25, Fees: 10}},
		{ledger.Terms{Commission: 9999}, math.MaxInt64, ledger.Shares{Payout: 922337203685478, Commission: 9222449699651090329}},
	} {
		if got, err := tt.terms.Split(tt.escrow); err != nil || got != tt.want {
			t.Errorf("%+v of %d: %+v, %v, want %+v", tt.terms, tt.escrow, got, err, tt.want)
		}
	}
}

func TestSplitOfWhatCannotBe(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		terms  ledger.Terms
		escrow int64
	}{
		{ledger.Terms{Commission: -1}, 100}, {ledger.Terms{Commission: 10_001}, 100}, {ledger.Terms{Fees: -1}, 100}, {ledger.Terms{}, 0}, {ledger.Terms{}, -5},
		{ledger.Terms{Commission: 10_000}, 100}, {ledger.Terms{Fees: 100}, 100}, {ledger.Terms{Commission: 5000, Fees: math.MaxInt64}, math.MaxInt64},
	} {
		if got, err := tt.terms.Split(tt.escrow); !errors.Is(err, ledger.ErrInvalid) {
			t.Errorf("%+v of %d: %+v, %v", tt.terms, tt.escrow, got, err)
		}
	}
}

// TestSplitLosesNothing: the parts are the whole, to the nano, and the commission is what exact
// arithmetic rounds down to.
func TestSplitLosesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		terms := ledger.Terms{Commission: rapid.Int64Range(0, 10_000).Draw(t, "rate"), Fees: rapid.Int64Range(0, 1<<40).Draw(t, "fees")}
		escrow := rapid.Int64Range(1, math.MaxInt64).Draw(t, "escrow")
		s, err := terms.Split(escrow)
		exact := new(big.Int).Mul(big.NewInt(escrow), big.NewInt(terms.Commission))
		exact.Quo(exact, big.NewInt(10_000))
		left := new(big.Int).Sub(big.NewInt(escrow), exact)
		if left.Cmp(big.NewInt(terms.Fees)) <= 0 {
			if !errors.Is(err, ledger.ErrInvalid) {
				t.Fatalf("nothing is left to pay out: %+v, %v", s, err)
			}
			return
		}
		if err != nil || s.Commission != exact.Int64() || s.Fees != terms.Fees || s.Payout+s.Commission+s.Fees != escrow {
			t.Fatalf("%+v, %v, want a commission of %s", s, err, exact)
		}
	})
}
