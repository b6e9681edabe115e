package deal

import (
	"context"
	"errors"
	"fmt"

	machine "github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/generated/transfer"
	"github.com/fsmgen/fsmgen/runtime/client"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/deal/ledger"
	"github.com/fsmgen/fsmgen/services/deal/posts"
)

// handlers carries out the effects of the machine deal. Those of posts are methods of the scheduler and
// the verifier.
type handlers[T any] struct {
	*posts.Scheduler[T]
	*posts.Verifier[T]
	service *Service[T]
}

// DealEvents publishes what has become of a deal.
func (h *handlers[T]) DealEvents(ctx context.Context, d fsm.Dispatch, _ machine.DealEventsEffect) error {
	return h.service.config.Publisher.Publish(ctx, d)
}

// NotifyAdvertiser notifies the advertiser of a deal.
func (h *handlers[T]) NotifyAdvertiser(ctx context.Context, d fsm.Dispatch, e machine.NotifyAdvertiserEffect) error {
	return h.notify(ctx, d, e.AdvertiserID, e.Status)
}

// NotifyOwner notifies the owner of a deal.
func (h *handlers[T]) NotifyOwner(ctx context.Context, d fsm.Dispatch, e machine.NotifyOwnerEffect) error {
	return h.notify(ctx, d, e.OwnerID, e.Status)
}

// AlertOperator notifies the operators of a deal that waits for them.
func (h *handlers[T]) AlertOperator(ctx context.Context, d fsm.Dispatch, e machine.AlertOperatorEffect) error {
	return h.notify(ctx, d, 0, e.Status)
}

func (h *handlers[T]) notify(ctx context.Context, d fsm.Dispatch, user int64, status string) error {
	id, err := fsm.ParseUUID(d.Record)
	if err != nil {
		return fmt.Errorf("deal %s: %w", d.Record, err)
	}
	return h.service.config.Notifier.Notify(ctx, Notice{ID: d.ID, User: user, Deal: id, Status: status})
}

// GenerateDepositAddress makes the address that a deal is paid to.
func (h *handlers[T]) GenerateDepositAddress(ctx context.Context, _ fsm.Dispatch, e machine.GenerateDepositAddressEffect) (machine.GenerateDepositAddressAnswer, error) {
	address, err := h.service.addresses.Of(ctx, e.DealID)
	if err != nil {
		return nil, err
	}
	return machine.AddressReady{DepositAddress: address.String()}, nil
}

// LedgerDeposit books the deposit that funds a deal.
func (h *handlers[T]) LedgerDeposit(ctx context.Context, tx T, d fsm.Dispatch, e machine.LedgerDepositEffect) error {
	return h.post(ctx, tx, d, ledger.Funded(e.DealID, e.TxHash, e.DepositNano.V, e.AmountNano))
}

// LedgerStray books a deposit that funds nothing.
func (h *handlers[T]) LedgerStray(ctx context.Context, tx T, d fsm.Dispatch, e machine.LedgerStrayEffect) error {
	return h.post(ctx, tx, d, ledger.Stray(e.DealID, e.TxHash, e.AmountNano))
}

// FreezeEscrow books nothing: what is frozen stays on the escrow's account, and the deal says so.
func (h *handlers[T]) FreezeEscrow(context.Context, T, fsm.Dispatch, machine.FreezeEscrowEffect) error {
	return nil
}

// ReleaseEscrow books the end of a deal that was carried out.
func (h *handlers[T]) ReleaseEscrow(ctx context.Context, tx T, d fsm.Dispatch, e machine.ReleaseEscrowEffect) error {
	return h.post(ctx, tx, d, ledger.Released(e.DealID, e.OwnerID, ledger.Shares{Payout: e.PayoutNano.V, Commission: e.CommissionNano.V, Fees: e.FeesNano.V}))
}

// ReturnEscrow books the end of a deal whose money goes back.
func (h *handlers[T]) ReturnEscrow(ctx context.Context, tx T, d fsm.Dispatch, e machine.ReturnEscrowEffect) error {
	return h.post(ctx, tx, d, ledger.Returned(e.DealID, e.DepositNano.V))
}

func (h *handlers[T]) post(ctx context.Context, tx T, d fsm.Dispatch, e ledger.Entry) error {
	if err := h.service.config.Database.ledger.Post(ctx, tx, e, d.At); err != nil {
		return fmt.Errorf("book deal %s: %w", d.Record, err)
	}
	return nil
}

// AddressRefunds gives an address to the refund and the returns of a deal that wait for one.
func (h *handlers[T]) AddressRefunds(ctx context.Context, d fsm.Dispatch, e machine.AddressRefundsEffect) error {
	return errors.Join(
		h.address(ctx, d, e.DealID, transfer.KindRefund, e.RefundAddress),
		h.address(ctx, d, e.DealID, transfer.KindReturn, e.RefundAddress))
}

// AddressPayout gives an address to the payout of a deal that waits for one.
func (h *handlers[T]) AddressPayout(ctx context.Context, d fsm.Dispatch, e machine.AddressPayoutEffect) error {
	return h.address(ctx, d, e.DealID, transfer.KindPayout, e.PayoutAddress)
}

func (h *handlers[T]) address(ctx context.Context, d fsm.Dispatch, deal fsm.UUID, kind transfer.Kind, recipient string) error {
	waiting, err := h.service.movements.Unpaid(ctx, deal, kind)
	if err != nil {
		return err
	}
	for _, id := range waiting {
		_, failed := h.service.Transfers.Addressed(ctx, id, transfer.Addressed{Recipient: recipient}, transfer.BySystem(), client.Key(d.ID+":"+id.String()))
		var refused *fsm.Rejection
		if failed != nil && !errors.As(failed, &refused) { // refused: it has gone on meanwhile
			err = errors.Join(err, fmt.Errorf("give transfer %s its address: %w", id, failed))
		}
	}
	return err
}
