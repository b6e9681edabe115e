package ledger

import (
	"fmt"
	"math/bits"
)

// Terms are what the platform takes of a released escrow. They are fixed in a deal when it is
// funded: a later change of the configuration does not concern it.
type Terms struct {
	// Commission is the rate in basis points, 0 to 10,000: 250 are 2.5 percent.
	Commission int64
	// Fees is what is kept for the network, in nano.
	Fees int64
}

const wholeInBasisPoints = 10_000

// Shares are the parts of a released escrow, in nano. Their sum is the escrow.
type Shares struct{ Payout, Commission, Fees int64 }

// Split divides an escrow. The commission is rounded down to a nano, in favour of the owner. The
// error is [ErrInvalid] if the terms are out of range, or leave nothing to pay out.
func (t Terms) Split(escrow int64) (Shares, error) {
	if t.Commission < 0 || t.Commission > wholeInBasisPoints || t.Fees < 0 || escrow <= 0 {
		return Shares{}, fmt.Errorf("%w: an escrow of %d nano with a commission of %d basis points and fees of %d nano", ErrInvalid, escrow, t.Commission, t.Fees)
	}
	// The product may exceed 64 bits; the quotient is at most the escrow.
	high, low := bits.Mul64(uint64(escrow), uint64(t.Commission))
	commission, _ := bits.Div64(high, low, wholeInBasisPoints)
	s := Shares{Commission: int64(commission), Fees: t.Fees}
	s.Payout = escrow - s.Commission - s.Fees
	if s.Payout <= 0 {
		return Shares{}, fmt.Errorf("%w: a commission of %d nano and fees of %d nano leave nothing of an escrow of %d nano", ErrInvalid, s.Commission, s.Fees, escrow)
	}
	return s, nil
}
