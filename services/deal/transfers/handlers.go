package transfers

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/fsmgen/fsmgen/adapters/ton"
	"github.com/fsmgen/fsmgen/generated/transfer"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Handlers carries out the effects of the machine transfer. It is safe for concurrent use.
type Handlers[T any] struct{ config Config[T] }

// New returns the handlers. It asks neither the chain nor the database.
func New[T any](config Config[T]) (*Handlers[T], error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	return &Handlers[T]{config}, nil
}

// wallet returns the wallet that a transfer leaves.
func (h *Handlers[T]) wallet(ctx context.Context, deal fsm.UUID, kind transfer.Kind) (Wallet, error) {
	if kind != transfer.KindCollection {
		return h.config.Escrow, nil
	}
	w, err := h.config.Deposits(ctx, deal)
	if err != nil {
		return nil, fmt.Errorf("transfers: wallet with the deposits of deal %s: %w", deal, err)
	}
	return w, nil
}

// errCollecting has a collection wait: a deposit's wallet has one seqno at a time.
var errCollecting = errors.New("another collection of the deal is under way: this one waits for it")

// Sign signs the transfer. What it returns is not sent before it is stored. An attempt whose answer
// is lost leaves nothing behind: bytes that are not stored are never sent.
func (h *Handlers[T]) Sign(ctx context.Context, _ fsm.Dispatch, e transfer.SignEffect) (transfer.SignAnswer, error) {
	order, err := orderOf(e)
	if err != nil {
		return nil, fmt.Errorf("transfers: transfer %s: %w", e.TransferID, err)
	}
	if e.Kind == transfer.KindCollection {
		if busy, err := h.config.Database.collects(ctx, e.DealID); err != nil {
			return nil, err
		} else if busy {
			return nil, fmt.Errorf("transfers: transfer %s: %w", e.TransferID, errCollecting)
		}
	}
	w, err := h.wallet(ctx, e.DealID, e.Kind)
	if err != nil {
		return nil, err
	}
	signed, err := w.Sign(ctx, order)
	if err != nil {
		return nil, fmt.Errorf("transfers: sign transfer %s: %w", e.TransferID, advised(err))
	}
	return transfer.SignedAs{
		Boc: base64.StdEncoding.EncodeToString(signed.BOC), BodyHash: signed.BodyHash.String(), QueryID: int64(signed.Seqno),
		ValidUntil: signed.ValidUntil, SinceLt: int64(signed.Since.LT), SinceHash: signed.Since.Hash.String(),
	}, nil
}

// orderOf is what is signed. The money of a payment comes back if the recipient can't take it. That
// of a collection must not: the escrow wallet has no code before its first transfer.
func orderOf(e transfer.SignEffect) (ton.Transfer, error) {
	to, err := address(e.Recipient)
	return ton.Transfer{To: to, Nano: uint64(e.AmountNano), Bounce: e.Kind != transfer.KindCollection, Comment: e.TransferID.String()}, err
}

// address reads the raw form that records have. A repeat would read the same.
func address(text fsm.Optional[string]) (a ton.Address, err error) {
	if err := a.UnmarshalText([]byte(text.V)); err != nil {
		return ton.Address{}, &engine.PermanentError{Err: fmt.Errorf("the recipient must be recorded as 0: and 64 hexadecimal digits: %w", err)}
	}
	return a, nil
}

// advised says what to do about an error that an operator can mend.
func advised(err error) error {
	switch {
	case errors.Is(err, ton.ErrBalance):
		return fmt.Errorf("%w: send money to the wallet", err)
	case errors.Is(err, ton.ErrFrozen):
		return fmt.Errorf("%w: unfreeze the wallet", err)
	case errors.Is(err, ton.ErrProof):
		return fmt.Errorf("%w: take the liteserver out of the network configuration if this goes on", err)
	}
	return err
}

// Send sends the bytes of the record. A liteserver refuses what was executed or is late: whether it
// was, Follow asks the chain.
func (h *Handlers[T]) Send(ctx context.Context, _ fsm.Dispatch, e transfer.SendEffect) (transfer.SendAnswer, error) {
	signed, err := restore(e.Boc)
	if err != nil {
		return nil, fmt.Errorf("transfers: transfer %s: %w", e.TransferID, err)
	}
	w, err := h.wallet(ctx, e.DealID, e.Kind)
	if err != nil {
		return nil, err
	}
	if err := w.Send(ctx, signed); err != nil && !errors.Is(err, ton.ErrRefused) {
		return nil, fmt.Errorf("transfers: send transfer %s: %w", e.TransferID, advised(err))
	}
	return transfer.Tried{}, nil
}

// restore reads the bytes that a record has.
func restore(boc fsm.Optional[string]) (ton.Signed, error) {
	data, err := base64.StdEncoding.DecodeString(boc.V)
	if err == nil {
		var signed ton.Signed
		if signed, err = ton.Restore(data); err == nil {
			return signed, nil
		}
	}
	return ton.Signed{}, &engine.PermanentError{Err: fmt.Errorf("the record has no message: %w", err)}
}

// TellDeal reports the status to the deal.
func (h *Handlers[T]) TellDeal(ctx context.Context, d fsm.Dispatch, e transfer.TellDealEffect) error {
	id, status, err := place(d, e.Status)
	if err != nil {
		return err
	}
	if err := h.config.Deals.Report(ctx, Report{ID: d.ID, Transfer: id, Deal: e.DealID, Kind: e.Kind, Status: status}); err != nil {
		return fmt.Errorf("transfers: report %s of transfer %s to deal %s: %w", status, id, e.DealID, err)
	}
	return nil
}

// Alert sends the transfer to the operators.
func (h *Handlers[T]) Alert(ctx context.Context, d fsm.Dispatch, e transfer.AlertEffect) error {
	id, status, err := place(d, e.Status)
	if err != nil {
		return err
	}
	if err := h.config.Operators.Alert(ctx, Alert{ID: d.ID, Transfer: id, Deal: e.DealID, Status: status, Problem: e.Problem.V}); err != nil {
		return fmt.Errorf("transfers: alert the operators of transfer %s: %w", id, err)
	}
	return nil
}

// place reads the transfer and its status off a message.
func place(d fsm.Dispatch, status string) (id fsm.UUID, s transfer.State, err error) {
	if id, err = fsm.ParseUUID(d.Record); err == nil {
		s, err = transfer.ParseState(status)
	}
	if err != nil {
		err = &engine.PermanentError{Err: fmt.Errorf("transfers: message %s: %w", d.ID, err)}
	}
	return id, s, err
}
