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

func dealRole(o Outside) Role {
	params := deal.DefaultParams()
	params.OfferTimeout, params.VerificationTimeout = 2*time.Minute, 2*time.Minute
	return Role{
		Machine: deal.Define[*sql.Tx](dealHandlers{o}, params),
		Open: func(n int, _ time.Time) (Opening, error) {
			return Opening{deal.Create{OwnerID: owner(n), PriceNano: price}, deal.ByAdvertiser(advertiser(n)).Caller()}, nil
		},
		Next: simple(nextOfDeal),
	}
}

func advertiser(n int) int64 { return 100 + int64(n) }
func owner(n int) int64      { return 900 + int64(n) }

// nextOfDeal is what the two parties do. Of ten deals one is rejected, one is
// not answered and expires, one is cancelled by both, two are disputed, one is
// released by the clock and one is paid too much for.
func nextOfDeal(r *deal.Record, at Point) Move {
	story := at.N % 10
	byAdvertiser, byOwner := deal.ByAdvertiser(advertiser(at.N)).Caller(), deal.ByOwner(owner(at.N)).Caller()
	switch r.State {
	case deal.Draft:
		return Move{Event: deal.SubmitOffer{}, By: byAdvertiser}
	case deal.OfferPending:
		switch story {
		case 9:
			return wait()
		case 8:
			return Move{Event: deal.Reject{}, By: byOwner}
		case 1, 4:
			return Move{Event: deal.CounterOffer{PriceNano: price * 6 / 5}, By: byOwner}
		}
		return Move{Event: deal.Accept{}, By: byOwner, Wrong: deal.Agree{}}
	case deal.Negotiating:
		return Move{Event: deal.Agree{}, By: byAdvertiser}
	case deal.AwaitingPayment:
		paid := deal.DepositConfirmed{TxHash: "tx-" + r.DealID.String(), AmountNano: r.PriceNano}
		if story == 7 {
			paid.AmountNano += 5
		}
		return system(paid)
	case deal.Funded:
		switch {
		case story == 6 && !r.AdvertiserCancels:
			return Move{Event: deal.MutualCancel{}, By: byAdvertiser, Wrong: deal.Cancel{}}
		case story == 6:
			return Move{Event: deal.MutualCancel{}, By: byOwner}
		}
		return Move{Event: deal.SubmitDraft{Creative: fsm.JSON(`{"text":"Fresh tea, every day"}`)}, By: byOwner}
	case deal.CreativeSubmitted:
		if story == 5 {
			return Move{Event: deal.Dispute{Complaint: "not what was agreed"}, By: byAdvertiser}
		}
		return Move{Event: deal.Approve{}, By: byAdvertiser}
	case deal.CreativeApproved:
		if story%2 == 0 {
			return Move{Event: deal.PublishNow{}, By: byOwner}
		}
		return Move{Event: deal.SetPublishTime{PublishAt: at.Now.Add(time.Minute)}, By: byOwner}
	case deal.Scheduled:
		if at.Now.Before(r.PublishAt.Or(at.Now)) {
			return wait()
		}
		return system(deal.AutoPublished{})
	case deal.DeliveryVerifying:
		switch story {
		case 3:
			return wait()
		case 4:
			return system(deal.VerificationFailed{})
		}
		return system(deal.VerificationPassed{})
	case deal.Disputed:
		if story == 4 {
			return Move{Event: deal.ResolveForOwner{}, By: deal.ByOperator(1).Caller()}
		}
		return Move{Event: deal.ResolveForAdvertiser{}, By: deal.ByOperator(1).Caller()}
	}
	return untilTerminal(r.State.Terminal())
}

// dealHandlers keeps the ledger in the transaction of the step, and speaks to
// Kafka, the chain and the post scheduler outside of it.
type dealHandlers struct{ out Outside }

var _ deal.Handlers[*sql.Tx] = dealHandlers{}

func (h dealHandlers) DealEvents(ctx context.Context, d fsm.Dispatch, _ deal.DealEventsEffect) error {
	return h.out.send(ctx, "kafka", d)
}

func (h dealHandlers) NotifyAdvertiser(ctx context.Context, d fsm.Dispatch, _ deal.NotifyAdvertiserEffect) error {
	return h.out.send(ctx, "notifications", d)
}

// NotifyOwner fails for good while the owner blocks the bot: the message is a
// dead letter until an operator has spoken to the owner, see Mend.
func (h dealHandlers) NotifyOwner(ctx context.Context, d fsm.Dispatch, e deal.NotifyOwnerEffect) error {
	if e.OwnerID%10 == blockedStory && !h.out.has("notifications", unblocked) {
		return never("owner %d has blocked the bot", e.OwnerID)
	}
	return h.out.send(ctx, "notifications", d)
}

const unblocked = "unblocked"

// blockedStory is the last digit of the owners who block the bot.
const blockedStory = 2

// Mend is what a person does about the dead letters of the deals.
func (o Outside) Mend() error { return o.put("notifications", unblocked, nil) }

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
