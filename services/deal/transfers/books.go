package transfers

import (
	"context"
	"fmt"

	"github.com/fsmgen/fsmgen/generated/transfer"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/deal/ledger"
)

// BookSent books a transfer that has reached its recipient. An error refuses the step.
func (h *Handlers[T]) BookSent(ctx context.Context, tx T, d fsm.Dispatch, e transfer.BookSentEffect) error {
	switch e.Kind {
	case transfer.KindCollection:
		return h.bookFee(ctx, tx, d, e.DealID, e.TxHash, e.FeeNano)
	case transfer.KindPayout:
		return h.post(ctx, tx, d, ledger.Sent(e.DealID, e.TransferID, ledger.Owner(e.OwnerID.V), e.AmountNano, e.FeeNano))
	case transfer.KindRefund, transfer.KindReturn:
		return h.post(ctx, tx, d, ledger.Sent(e.DealID, e.TransferID, ledger.Suspense, e.AmountNano, e.FeeNano))
	}
	return fmt.Errorf("transfers: book transfer %s: %d is no kind", e.TransferID, e.Kind)
}

// BookFee books what a transfer has cost that has moved nothing else.
func (h *Handlers[T]) BookFee(ctx context.Context, tx T, d fsm.Dispatch, e transfer.BookFeeEffect) error {
	return h.bookFee(ctx, tx, d, e.DealID, e.TxHash, e.FeeNano)
}

func (h *Handlers[T]) bookFee(ctx context.Context, tx T, d fsm.Dispatch, deal fsm.UUID, hash string, fee int64) error {
	if fee == 0 {
		return nil
	}
	return h.post(ctx, tx, d, ledger.Failed(deal, hash, fee))
}

func (h *Handlers[T]) post(ctx context.Context, tx T, d fsm.Dispatch, e ledger.Entry) error {
	if err := h.config.Ledger.Post(ctx, tx, e, d.At); err != nil {
		return fmt.Errorf("transfers: book transfer %s: %w", d.Record, err)
	}
	return nil
}
