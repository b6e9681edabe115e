package deal

import (
	"context"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/adapters/ton"
	"github.com/fsmgen/fsmgen/generated/transfer"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/deal/ledger"
)

// Reconciliation compares the chain with the books. Amounts are nano TON.
type Reconciliation struct {
	Seqno uint32    `json:"seqno"` // of the block that was looked at
	Time  time.Time `json:"time"`  // of that block
	// Escrow is what the escrow wallet has, and Deposits what the addresses of the deals have together.
	Escrow   int64 `json:"escrow"`
	Deposits int64 `json:"deposits"`
	// Books is what the ledger says that all of them have, and Difference what the chain has more.
	Books      int64 `json:"books"`
	Difference int64 `json:"difference"`
	// Behind are the addresses with transactions that no watcher has booked yet, in raw form.
	Behind []string `json:"behind,omitempty"`
	// UnderWay are the transfers that are signed and not at their end. While there are some, or
	// addresses are behind, a difference says nothing.
	UnderWay []UnderWay `json:"under_way,omitempty"`
}

// UnderWay is a transfer that may have moved money which is not booked yet.
type UnderWay struct {
	Transfer fsm.UUID       `json:"transfer"`
	Deal     fsm.UUID       `json:"deal"`
	Kind     transfer.Kind  `json:"kind"`
	Status   transfer.State `json:"status"`
	Nano     int64          `json:"nano"`
}

// Reconcile looks at every wallet on the chain, and at the books. It changes nothing.
func (s *Service[T]) Reconcile(ctx context.Context) (r Reconciliation, err error) {
	if r.UnderWay, err = s.underWay(ctx); err != nil {
		return r, err
	}
	view, err := s.config.Chain.View(ctx)
	if err != nil {
		return r, fmt.Errorf("reconcile: %w", err)
	}
	r.Seqno, r.Time = view.Seqno, view.Time
	for _, of := range s.watched {
		accounts, err := of.Open(ctx)
		if err != nil {
			return r, fmt.Errorf("reconcile: %w", err)
		}
		for _, a := range accounts {
			if err := s.count(ctx, view, a, &r); err != nil {
				return r, fmt.Errorf("reconcile: %w", err)
			}
		}
	}
	totals, err := s.Books.Totals(ctx)
	if err != nil {
		return r, fmt.Errorf("reconcile: %w", err)
	}
	r.Books = -totals[ledger.ExternalTON]
	r.Difference = r.Escrow + r.Deposits - r.Books
	return r, nil
}

// count adds what an account has.
func (s *Service[T]) count(ctx context.Context, at ton.View, a ton.Account, r *Reconciliation) error {
	has, err := s.config.Chain.Holding(ctx, at, a.Address)
	if err != nil {
		return err
	}
	if has.Last.LT > a.Cursor.LT {
		r.Behind = append(r.Behind, a.Address.String())
	}
	if a.Address == s.escrow.Address() {
		r.Escrow += int64(has.Nano)
	} else {
		r.Deposits += int64(has.Nano)
	}
	return nil
}

func (s *Service[T]) underWay(ctx context.Context) (list []UnderWay, err error) {
	for _, state := range []transfer.State{transfer.Signed, transfer.Sent, transfer.Stuck} {
		for found, err := range s.Transfers.All(ctx, state) {
			if err != nil {
				return nil, fmt.Errorf("reconcile: %w", err)
			}
			t := found.Record
			list = append(list, UnderWay{t.TransferID, t.DealID, t.Kind, t.State, t.AmountNano})
		}
	}
	return list, nil
}
