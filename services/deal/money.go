package deal

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/fsmgen/fsmgen/adapters/ton"
	machine "github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/generated/transfer"
	"github.com/fsmgen/fsmgen/runtime/client"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/deal/transfers"
)

// confirm fires DEPOSIT_CONFIRMED in the transaction that credits a deposit. What the platform takes is
// fixed by the terms of now (F-003-32). A deposit that Kafka has confirmed before is done.
func (s *Service[T]) confirm(ctx context.Context, tx *engine.Tx[T], deal fsm.UUID, d ton.Deposit) error {
	if d.Nano > math.MaxInt64 {
		return fmt.Errorf("%d nano are more than there are", d.Nano)
	}
	price, err := s.Books.Price(ctx, tx.Tx, deal)
	if err != nil {
		return err
	}
	event := machine.DepositConfirmed{TxHash: d.Hash.String(), AmountNano: int64(d.Nano), Withheld: price}
	// Terms that leave nothing to pay out fund no deal: with all of it withheld the deposit goes back.
	if shares, err := s.config.Terms.Split(price); err == nil {
		event.Withheld, event.Commission = shares.Commission+shares.Fees, shares.Commission
	}
	_, err = machine.Within(tx).DepositConfirmed(ctx, deal, event, machine.BySystem())
	if errors.Is(err, engine.ErrKeyUsed) {
		return nil
	}
	return err
}

// settlementOf is what a payout or a refund in a state makes of the settlement of its deal. ends is false
// for a transfer that is on its way.
func settlementOf(of transfer.State) (s machine.Settlement, ends bool) {
	switch of {
	case transfer.Waiting:
		return machine.SettlementWaiting, true
	case transfer.Confirmed:
		return machine.SettlementMoved, true
	case transfer.Bounced, transfer.Expired, transfer.Stuck:
		return machine.SettlementFailed, true
	case transfer.Abandoned:
		return machine.SettlementAbandoned, true
	case transfer.Planned, transfer.Signed, transfer.Sent:
	}
	return machine.SettlementMoving, false
}

// Report notes at a deal what has become of its payout or refund. A deal whose money has moved refuses
// to hear more of it: that is no error.
func (s *Service[T]) Report(ctx context.Context, r transfers.Report) error {
	outcome, ends := settlementOf(r.Status)
	if !ends || r.Kind != transfer.KindPayout && r.Kind != transfer.KindRefund {
		return nil
	}
	_, err := s.Deals.TransferReported(ctx, r.Deal, machine.TransferReported{Outcome: outcome}, machine.BySystem(), client.Key(r.ID))
	var refused *fsm.Rejection
	if err != nil && !errors.As(err, &refused) {
		return fmt.Errorf("report transfer %s to deal %s: %w", r.Transfer, r.Deal, err)
	}
	return nil
}

// Alert notifies the operators of a transfer that waits for them.
func (s *Service[T]) Alert(ctx context.Context, a transfers.Alert) error {
	return s.config.Notifier.Notify(ctx, Notice{ID: a.ID, Deal: a.Deal, Transfer: fsm.Some(a.Transfer), Status: a.Status.String(), Problem: a.Problem})
}
