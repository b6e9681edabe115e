package service

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

const price = 5_000_000_000

type dealMove = move[deal.Payload]

func dealParams() deal.Params {
	params := deal.DefaultParams()
	params.OfferTimeout, params.VerificationTimeout = 2*time.Minute, 2*time.Minute
	return params
}

func dealScenario() scenario[deal.Payload, *deal.Record] {
	open := func(n int, _ time.Time) (opening[deal.Payload], error) {
		return opening[deal.Payload]{deal.Create{OwnerID: owner(n), PriceNano: price}, deal.ByAdvertiser(advertiser(n))}, nil
	}
	return scenario[deal.Payload, *deal.Record]{open, nextOfDeal}
}

func advertiser(n int) int64 { return 100 + int64(n) }
func owner(n int) int64      { return 900 + int64(n) }

// nextOfDeal is what the two parties do. Of ten deals one is rejected, one is
// not answered and expires, one is cancelled by both, two are disputed, one is
// released by the clock and one is paid too much for.
func nextOfDeal(r *deal.Record, at point) dealMove {
	variant := at.n % 10
	byAdvertiser, byOwner := deal.ByAdvertiser(advertiser(at.n)), deal.ByOwner(owner(at.n))
	switch r.State {
	case deal.Draft:
		return dealMove{event: deal.SubmitOffer{}, by: byAdvertiser}
	case deal.OfferPending:
		switch variant {
		case 9:
			return dealMove{}
		case 8:
			return dealMove{event: deal.Reject{}, by: byOwner}
		case 1, 4:
			return dealMove{event: deal.CounterOffer{PriceNano: price * 6 / 5}, by: byOwner}
		}
		return dealMove{event: deal.Accept{}, by: byOwner, wrong: deal.Agree{}}
	case deal.Negotiating:
		return dealMove{event: deal.Agree{}, by: byAdvertiser}
	case deal.AwaitingPayment:
		paid := deal.DepositConfirmed{TxHash: "tx-" + r.DealID.String(), AmountNano: r.PriceNano}
		if variant == 7 {
			paid.AmountNano += 5
		}
		return dealMove{event: paid}
	case deal.Funded:
		switch {
		case variant == 6 && !r.AdvertiserCancels:
			return dealMove{event: deal.MutualCancel{}, by: byAdvertiser, wrong: deal.Cancel{}}
		case variant == 6:
			return dealMove{event: deal.MutualCancel{}, by: byOwner}
		}
		return dealMove{event: deal.SubmitDraft{Creative: fsm.JSON(`{"text":"Fresh tea, every day"}`)}, by: byOwner}
	case deal.CreativeSubmitted:
		if variant == 5 {
			return dealMove{event: deal.Dispute{Complaint: "not what was agreed"}, by: byAdvertiser}
		}
		return dealMove{event: deal.Approve{}, by: byAdvertiser}
	case deal.CreativeApproved:
		if variant%2 == 0 {
			return dealMove{event: deal.PublishNow{}, by: byOwner}
		}
		return dealMove{event: deal.SetPublishTime{PublishAt: at.now.Add(time.Minute)}, by: byOwner}
	case deal.Scheduled:
		if at.now.Before(r.PublishAt.Or(at.now)) {
			return dealMove{}
		}
		return dealMove{event: deal.AutoPublished{}}
	case deal.DeliveryVerifying:
		switch variant {
		case 3:
			return dealMove{}
		case 4:
			return dealMove{event: deal.VerificationFailed{}}
		}
		return dealMove{event: deal.VerificationPassed{}}
	case deal.Disputed:
		if variant == 4 {
			return dealMove{event: deal.ResolveForOwner{}, by: deal.ByOperator(1)}
		}
		return dealMove{event: deal.ResolveForAdvertiser{}, by: deal.ByOperator(1)}
	}
	return dealMove{rest: r.State.Terminal()}
}

// dealHandlers keeps the ledger in the transaction of the step, and speaks to
// Kafka, the chain and the post scheduler outside of it.
type dealHandlers struct{ out Outside }

var _ deal.Handlers[tx] = dealHandlers{}

func (h dealHandlers) DealEvents(ctx context.Context, d fsm.Dispatch, _ deal.DealEventsEffect) error {
	return h.out.send(ctx, "kafka", d)
}

func (h dealHandlers) NotifyAdvertiser(ctx context.Context, d fsm.Dispatch, _ deal.NotifyAdvertiserEffect) error {
	return h.out.send(ctx, "notifications", d)
}

// NotifyOwner fails for good while the owner blocks the bot: the message is a
// dead letter until an operator has spoken to the owner, see Unblock.
func (h dealHandlers) NotifyOwner(ctx context.Context, d fsm.Dispatch, e deal.NotifyOwnerEffect) error {
	if e.OwnerID%10 == blockedOwner && !h.out.has("notifications", unblocked) {
		return never("owner %d has blocked the bot", e.OwnerID)
	}
	return h.out.send(ctx, "notifications", d)
}

const unblocked = "unblocked"

// blockedOwner is the last digit of owners who block the bot.
const blockedOwner = 2

// Unblock removes the cause of the dead letters of the deals.
func (o Outside) Unblock() error { return o.put("notifications", unblocked, nil) }

// GenerateDepositAddress derives the address from the deal, so that a repeat
// gives the same.
func (h dealHandlers) GenerateDepositAddress(ctx context.Context, d fsm.Dispatch, e deal.GenerateDepositAddressEffect) (deal.GenerateDepositAddressAnswer, error) {
	if err := h.out.call(ctx, "ton", d); err != nil {
		return nil, err
	}
	address := "EQ-" + digest([]byte(e.DealID.String()))[:40]
	return deal.AddressReady{DepositAddress: address}, h.out.put("ton", "addresses/"+address, d.Payload)
}

func escrow(id fsm.UUID) string { return "ESCROW:" + id.String() }

func (h dealHandlers) LedgerDeposit(ctx context.Context, tx *sql.Tx, d fsm.Dispatch, e deal.LedgerDepositEffect) error {
	return book(ctx, tx, d, "EXTERNAL_TON", escrow(e.DealID), e.DepositNano.V)
}

func (h dealHandlers) FreezeEscrow(ctx context.Context, tx *sql.Tx, d fsm.Dispatch, _ deal.FreezeEscrowEffect) error {
	return note(ctx, tx, d)
}

func (h dealHandlers) ReleaseEscrow(ctx context.Context, tx *sql.Tx, d fsm.Dispatch, e deal.ReleaseEscrowEffect) error {
	return book(ctx, tx, d, escrow(e.DealID), fmt.Sprintf("OWNER:%d", e.OwnerID), e.DepositNano.V)
}

func (h dealHandlers) DeductCommission(ctx context.Context, tx *sql.Tx, d fsm.Dispatch, e deal.DeductCommissionEffect) error {
	const percent = 10
	return book(ctx, tx, d, "OWNERS", "PLATFORM", e.DepositNano.V*percent/100)
}

func (h dealHandlers) ReturnEscrow(ctx context.Context, tx *sql.Tx, d fsm.Dispatch, e deal.ReturnEscrowEffect) error {
	return book(ctx, tx, d, escrow(e.DealID), fmt.Sprintf("ADVERTISER:%d", e.AdvertiserID), e.DepositNano.V)
}

// transfer sends money on the chain, under the key of the effect.
func (h dealHandlers) transfer(ctx context.Context, d fsm.Dispatch) error {
	return h.out.send(ctx, "ton", d)
}

// transferred asks the chain.
func (h dealHandlers) transferred(d fsm.Dispatch) (bool, error) {
	return h.out.has("ton", d.ID+".json"), nil
}

func (h dealHandlers) ExecutePayout(ctx context.Context, d fsm.Dispatch, _ deal.ExecutePayoutEffect) error {
	return h.transfer(ctx, d)
}

func (h dealHandlers) QueryExecutePayout(_ context.Context, d fsm.Dispatch, _ deal.ExecutePayoutEffect) (bool, error) {
	return h.transferred(d)
}

func (h dealHandlers) ExecuteRefund(ctx context.Context, d fsm.Dispatch, _ deal.ExecuteRefundEffect) error {
	return h.transfer(ctx, d)
}

func (h dealHandlers) QueryExecuteRefund(_ context.Context, d fsm.Dispatch, _ deal.ExecuteRefundEffect) (bool, error) {
	return h.transferred(d)
}

func (h dealHandlers) RefundDeposit(ctx context.Context, d fsm.Dispatch, _ deal.RefundDepositEffect) error {
	return h.transfer(ctx, d)
}

func (h dealHandlers) QueryRefundDeposit(_ context.Context, d fsm.Dispatch, _ deal.RefundDepositEffect) (bool, error) {
	return h.transferred(d)
}

func (h dealHandlers) RefundSurplus(ctx context.Context, d fsm.Dispatch, _ deal.RefundSurplusEffect) error {
	return h.transfer(ctx, d)
}

func (h dealHandlers) QueryRefundSurplus(_ context.Context, d fsm.Dispatch, _ deal.RefundSurplusEffect) (bool, error) {
	return h.transferred(d)
}

func (h dealHandlers) EnablePublishing(ctx context.Context, d fsm.Dispatch, _ deal.EnablePublishingEffect) error {
	return h.out.send(ctx, "post_scheduler", d)
}

func (h dealHandlers) SchedulePost(ctx context.Context, d fsm.Dispatch, _ deal.SchedulePostEffect) error {
	return h.out.send(ctx, "post_scheduler", d)
}

func (h dealHandlers) PublishPost(ctx context.Context, d fsm.Dispatch, _ deal.PublishPostEffect) (deal.PublishPostAnswer, error) {
	if err := h.out.send(ctx, "post_scheduler", d); err != nil {
		return nil, err
	}
	return deal.StartVerification{}, nil
}

func (h dealHandlers) VerifyCallback(ctx context.Context, d fsm.Dispatch, _ deal.VerifyCallbackEffect) (deal.VerifyCallbackAnswer, error) {
	if err := h.out.call(ctx, "post_scheduler", d); err != nil {
		return nil, err
	}
	return deal.StartVerification{}, nil
}

func (h dealHandlers) StartVerification(ctx context.Context, d fsm.Dispatch, _ deal.StartVerificationEffect) error {
	return h.out.send(ctx, "delivery_verifier", d)
}
