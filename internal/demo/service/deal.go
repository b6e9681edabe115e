package service

import (
	"context"
	"time"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/generated/transfer"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

const price = 5_000_000_000

// dealScript is what the two parties do. Of ten deals one is rejected, one is not answered and
// expires, one is cancelled by both, two are disputed, one has no verdict, so an operator decides, and
// one is paid too much for.
func dealScript() script[deal.Payload, *deal.Record] {
	return script[deal.Payload, *deal.Record]{
		open: func(n int, _ time.Time) (deal.Payload, engine.Option) {
			return deal.Create{OwnerID: 900 + int64(n), PriceNano: price}, deal.ByAdvertiser(100 + int64(n))
		},
		moves: func(r *deal.Record, at point) []move[deal.Payload] {
			n := at.n % 10
			advertiser, owner, operator := deal.ByAdvertiser(r.AdvertiserID), deal.ByOwner(r.OwnerID), deal.ByOperator(1)
			paid := deal.DepositConfirmed{TxHash: "tx-" + r.DealID.String(), AmountNano: r.PriceNano, Withheld: r.PriceNano / 10, Commission: r.PriceNano / 20}
			if n == 7 {
				paid.AmountNano += r.PriceNano / 5
			}
			return []move[deal.Payload]{
				{deal.Draft, always, advertiser, deal.SubmitOffer{}, nil},
				{deal.OfferPending, n == 9, nil, nil, nil},
				{deal.OfferPending, n == 8, owner, deal.Reject{}, nil},
				{deal.OfferPending, n == 1 || n == 4, owner, deal.CounterOffer{PriceNano: price * 6 / 5}, nil},
				{deal.OfferPending, always, owner, deal.Accept{}, deal.Agree{}},
				{deal.Negotiating, always, advertiser, deal.Agree{}, nil},
				{deal.AwaitingPayment, !r.RefundAddress.IsSet, advertiser, deal.SetRefundAddress{RefundAddress: "EQ-advertiser"}, nil},
				{deal.AwaitingPayment, always, nil, paid, nil},
				{deal.Funded, !r.PayoutAddress.IsSet, owner, deal.SetPayoutAddress{PayoutAddress: "EQ-owner"}, nil},
				{deal.Funded, n == 6 && !r.AdvertiserCancels, advertiser, deal.MutualCancel{}, deal.Cancel{}},
				{deal.Funded, n == 6, owner, deal.MutualCancel{}, nil},
				{deal.Funded, always, owner, deal.SubmitDraft{Draft: 1, Creative: fsm.JSON(`{"text":"Fresh tea, every day"}`)}, nil},
				{deal.CreativeSubmitted, n == 5, advertiser, deal.Dispute{Complaint: "not what was agreed"}, nil},
				{deal.CreativeSubmitted, always, advertiser, deal.Approve{Draft: r.DraftVersion}, nil},
				{deal.CreativeApproved, n%2 == 0, owner, deal.PublishNow{}, nil},
				{deal.CreativeApproved, always, owner, deal.SetPublishTime{PublishAt: at.now.Add(time.Minute)}, nil},
				{deal.Scheduled, !at.now.Before(r.PublishAt.V), nil, deal.AutoPublished{}, nil},
				{deal.DeliveryVerifying, n == 3, nil, nil, nil},
				{deal.DeliveryVerifying, n == 4, nil, deal.VerificationFailed{}, nil},
				{deal.DeliveryVerifying, always, nil, deal.VerificationPassed{}, nil},
				{deal.Disputed, n == 3 || n == 4, operator, deal.ResolveForOwner{}, nil},
				{deal.Disputed, always, operator, deal.ResolveForAdvertiser{}, nil},
			}
		},
	}
}

// blockedOwner is the last digit of owners who block the bot: each message to them is a dead letter
// until an operator has spoken to them, see Unblock.
const blockedOwner = 2

// Unblock removes the cause of the dead letters of the deals.
func (o Outside) Unblock() error { return o.put(nil, "unblocked") }

func dealAnswer(_ context.Context, o Outside, d fsm.Dispatch) (fsm.Payload, error) {
	switch d.Effect {
	case "notify_owner":
		e, err := fsm.PayloadOf[deal.NotifyOwnerEffect](d)
		if err == nil && e.OwnerID%10 == blockedOwner && !o.has("unblocked") {
			err = never("owner %d has blocked the bot", e.OwnerID)
		}
		return nil, err
	case "generate_deposit_address": // derived from the deal, so that a repeat gives the same
		return deal.AddressReady{DepositAddress: "EQ-" + d.Record}, nil
	case "publish_post", "verify_callback":
		return deal.StartVerification{}, nil
	}
	return nil, nil
}

// transferAnswer signs, sends and finds what a deal has started: there is no chain here. The real
// handlers are in services/deal/transfers.
func transferAnswer(_ context.Context, _ Outside, d fsm.Dispatch) (fsm.Payload, error) {
	switch d.Effect {
	case "sign": // the same in each run, so that a repeat gives the same
		return transfer.SignedAs{
			Boc: digest("boc %s", d.Record), BodyHash: digest("body %s", d.Record), QueryID: 1, ValidUntil: d.At.Add(time.Hour), SinceHash: digest("none"),
		}, nil
	case "send":
		return transfer.Tried{}, nil
	case "follow":
		return transfer.Found{TxHash: digest("transaction %s", d.Record), FeeNano: fee}, nil
	}
	return nil, nil
}

// fee is what a transfer costs, in nano.
const fee = 5_000_000
