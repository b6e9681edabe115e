package transfers

import (
	"context"
	"errors"
	"fmt"

	"github.com/fsmgen/fsmgen/adapters/ton"
	"github.com/fsmgen/fsmgen/generated/transfer"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// What the chain has not decided yet: it is asked again.
var (
	errNotExecuted = errors.New("the chain has not executed it yet")
	errOnItsWay    = errors.New("its message has not arrived yet")
)

// Follow asks the chain what has become of the transfer. While it may still be executed, its bytes are
// sent again: a liteserver may have dropped them.
func (h *Handlers[T]) Follow(ctx context.Context, _ fsm.Dispatch, e transfer.FollowEffect) (transfer.FollowAnswer, error) {
	signed, err := signedOf(e)
	if err != nil {
		return nil, fmt.Errorf("transfers: transfer %s: %w", e.TransferID, err)
	}
	w, err := h.wallet(ctx, e.DealID, e.Kind)
	if err != nil {
		return nil, err
	}
	outcome, err := w.Outcome(ctx, signed)
	if err != nil {
		return nil, fmt.Errorf("transfers: follow transfer %s: %w", e.TransferID, advised(err))
	}
	switch outcome.State {
	case ton.Found:
		answer, err := found(e.Kind, signed, outcome)
		if err != nil {
			return nil, fmt.Errorf("transfers: transfer %s: %w", e.TransferID, err)
		}
		return answer, nil
	case ton.Expired, ton.Displaced:
		return transfer.Lapsed{}, nil
	case ton.Unknown:
		if err := w.Send(ctx, signed); err != nil {
			return nil, fmt.Errorf("transfers: transfer %s: %w, and could not be sent again: %w", e.TransferID, errNotExecuted, err)
		}
		return nil, fmt.Errorf("transfers: transfer %s: %w, and was sent again", e.TransferID, errNotExecuted)
	}
	return nil, fmt.Errorf("transfers: transfer %s: the wallet says %d, which is no state", e.TransferID, outcome.State)
}

// signedOf is what Sign has signed, as the record has it.
func signedOf(e transfer.FollowEffect) (ton.Signed, error) {
	signed, err := restore(e.Boc)
	if err != nil {
		return ton.Signed{}, err
	}
	if signed.To, err = address(e.Recipient); err != nil {
		return ton.Signed{}, err
	}
	if err := signed.Since.Hash.UnmarshalText([]byte(e.SinceHash.V)); err != nil {
		return ton.Signed{}, &engine.PermanentError{Err: err}
	}
	if hash := signed.BodyHash.String(); hash != e.BodyHash.V {
		return ton.Signed{}, &engine.PermanentError{Err: fmt.Errorf("the record has the message %s and the hash %s", hash, e.BodyHash.V)}
	}
	signed.Nano, signed.Seqno, signed.ValidUntil, signed.Since.LT = uint64(e.AmountNano), uint32(e.QueryID.V), e.ValidUntil.V, uint64(e.SinceLt.V)
	return signed, nil
}

// found is the answer to a transfer that its wallet has executed.
func found(kind transfer.Kind, s ton.Signed, o ton.Outcome) (transfer.FollowAnswer, error) {
	tx, fees := o.Transaction.Hash.String(), int64(o.Fees)
	switch o.Delivery {
	case ton.Delivered:
		if kind == transfer.KindCollection { // the recipient is a wallet of ours
			fees += int64(o.RecipientFees)
		}
		return transfer.Found{TxHash: tx, FeeNano: fees}, nil
	case ton.NotSent:
		return transfer.Unpaid{Why: "the wallet had not enough for the amount and the fees: send money to it, and retry", TxHash: tx, FeeNano: fees}, nil
	case ton.Bounced:
		return transfer.Unpaid{Why: "the recipient sent it back: ask for another address", TxHash: tx, FeeNano: fees + int64(s.Nano-o.Returned)}, nil
	case ton.OnItsWay, ton.Bouncing:
		return nil, errOnItsWay
	}
	return nil, fmt.Errorf("the wallet says %d, which is no delivery", o.Delivery)
}
