//go:build unix

package jepsen_test

import (
	"context"
	"time"

	"github.com/fsmgen/fsmgen/proptest/jepsen/generated/payment"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// retryOfTheRest is the policy of effects without a failure class.
var retryOfTheRest = fsm.RetryPolicy{First: 50 * time.Millisecond, Factor: 2, Max: 500 * time.Millisecond, Attempts: 3}

// define returns the machine with its handlers.
func define[Tx any](h handlers[Tx]) engine.Machine[Tx] {
	return payment.Define[Tx](h, payment.DefaultParams())
}

// handlers carry effects out by calls of the outside world.
type handlers[Tx any] struct {
	outside *client
	book    func(ctx context.Context, tx Tx, record string, version int64, effect string) error
}

func (h handlers[Tx]) do(ctx context.Context, d fsm.Dispatch) error {
	_, err := h.outside.call(ctx, verbDo, d)
	return err
}

func (h handlers[Tx]) CheckLimit(ctx context.Context, d fsm.Dispatch, _ payment.CheckLimitEffect) (payment.CheckLimitAnswer, error) {
	return payment.Approve{}, h.do(ctx, d)
}

func (h handlers[Tx]) AskPayer(ctx context.Context, d fsm.Dispatch, _ payment.AskPayerEffect) error {
	return h.do(ctx, d)
}

func (h handlers[Tx]) NotifyPayee(ctx context.Context, d fsm.Dispatch, _ payment.NotifyPayeeEffect) error {
	return h.do(ctx, d)
}

func (h handlers[Tx]) Archive(ctx context.Context, d fsm.Dispatch, _ payment.ArchiveEffect) error {
	return h.do(ctx, d)
}

func (h handlers[Tx]) Pay(ctx context.Context, d fsm.Dispatch, _ payment.PayEffect) (payment.PayAnswer, error) {
	return payment.PayDone{Receipt: d.ID}, h.do(ctx, d)
}

func (h handlers[Tx]) QueryPay(ctx context.Context, d fsm.Dispatch, _ payment.PayEffect) (payment.PayAnswer, bool, error) {
	done, err := h.outside.call(ctx, verbAsk, d)
	return payment.PayDone{Receipt: d.ID}, done, err
}

func (h handlers[Tx]) Seal(ctx context.Context, d fsm.Dispatch, _ payment.SealEffect) (payment.SealAnswer, error) {
	return payment.SealDone{}, h.do(ctx, d)
}

func (h handlers[Tx]) BookPayment(ctx context.Context, tx Tx, d fsm.Dispatch, _ payment.BookPaymentEffect) error {
	return h.book(ctx, tx, d.Record, d.Version, d.Effect)
}

func (h handlers[Tx]) BookNote(ctx context.Context, tx Tx, d fsm.Dispatch, _ payment.BookNoteEffect) error {
	return h.book(ctx, tx, d.Record, d.Version, d.Effect)
}
