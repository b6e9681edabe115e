package ledger

import (
	"errors"
	"fmt"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Line moves Nano from the account that it debits to the account that it credits.
type Line struct {
	Debit, Credit Account
	Nano          int64
}

// Entry is what one cause books in a deal.
type Entry struct {
	Deal  fsm.UUID
	Cause string // unique in the deal
	Lines []Line
}

// ErrInvalid is returned for an entry that can't be posted.
var ErrInvalid = errors.New("ledger: invalid entry")

func (e Entry) validate() error {
	if e.Cause == "" || len(e.Lines) == 0 {
		return fmt.Errorf("%w of deal %s: it needs a cause and a line", ErrInvalid, e.Deal)
	}
	for _, l := range e.Lines {
		switch {
		case l.Nano <= 0:
			return fmt.Errorf("%w %s of deal %s: a line of %d nano", ErrInvalid, e.Cause, e.Deal, l.Nano)
		case l.Debit == "" || l.Credit == "" || l.Debit == l.Credit:
			return fmt.Errorf("%w %s of deal %s: a line from %q to %q", ErrInvalid, e.Cause, e.Deal, l.Debit, l.Credit)
		}
	}
	return nil
}

// entry leaves out lines of nothing: a surplus, a commission or a fee may be zero.
func entry(deal fsm.UUID, cause string, lines ...Line) Entry {
	e := Entry{Deal: deal, Cause: cause}
	for _, l := range lines {
		if l.Nano != 0 {
			e.Lines = append(e.Lines, l)
		}
	}
	return e
}

// depositCause is the cause of what a deposit books. A transaction of the chain may pay several
// deals: the cause is unique in each.
func depositCause(tx string) string { return "deposit:" + tx }

// Funded books the deposit that funds a deal. The escrow holds the price; what was paid beyond it
// waits for its return (F-003-8).
func Funded(deal fsm.UUID, tx string, price, paid int64) Entry {
	return entry(deal, depositCause(tx),
		Line{ExternalTON, Escrow(deal), price},
		Line{ExternalTON, Suspense, paid - price})
}

// Stray books a deposit that funds nothing: too little, too late, or one more (F-003-5).
func Stray(deal fsm.UUID, tx string, paid int64) Entry {
	return entry(deal, depositCause(tx), Line{ExternalTON, Suspense, paid})
}

// Endowed books money that an operator has put into the escrow wallet, for the fees of the network. deal
// is that of what belongs to no deal.
func Endowed(deal fsm.UUID, tx string, paid int64) Entry {
	return entry(deal, depositCause(tx), Line{ExternalTON, NetworkFees, paid})
}

// Released books the end of a deal that was carried out: the escrow goes to the owner, less
// commission and fees (document 003, States, COMPLETED_RELEASED).
func Released(deal fsm.UUID, owner int64, s Shares) Entry {
	return entry(deal, "release",
		Line{Escrow(deal), Owner(owner), s.Payout},
		Line{Escrow(deal), Commission, s.Commission},
		Line{Escrow(deal), NetworkFees, s.Fees})
}

// Returned books the end of a deal whose escrow goes back. The money waits in [Suspense] until it
// was sent to the address that the advertiser has recorded.
func Returned(deal fsm.UUID, nano int64) Entry {
	return entry(deal, "return", Line{Escrow(deal), Suspense, nano})
}

// Sent books a transfer that has reached its recipient, and the fees that the chain took for it.
// from is what pays it: [Owner] or [Suspense].
func Sent(deal fsm.UUID, transfer fsm.UUID, from Account, nano, fee int64) Entry {
	return entry(deal, "transfer:"+transfer.String(),
		Line{from, ExternalTON, nano},
		Line{NetworkFees, ExternalTON, fee})
}

// Failed books the fees of a transfer that has moved nothing else: it bounced, or was skipped. tx
// is the transaction of the chain that took them.
func Failed(deal fsm.UUID, tx string, fee int64) Entry {
	return entry(deal, "fee:"+tx, Line{NetworkFees, ExternalTON, fee})
}
