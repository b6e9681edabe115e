package crashtest

import (
	"time"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

var dealKinds = []Kind{Create, Fire, Chain, Answer, Deadline, Deliver, Retry, Bury, Requeue, Idempotent, Keyed, Queryable, InTx}

func dealLives() []life {
	advertiser, owner, operator := deal.ByAdvertiser(7).Caller(), deal.ByOwner(8).Caller(), deal.ByOperator(9).Caller()
	draft := create("deal", deal.Create{OwnerID: 8, PriceNano: 100}, advertiser)
	offer := fire("deal", deal.SubmitOffer{}, advertiser)
	counter := fire("deal", deal.CounterOffer{PriceNano: 90}, owner)
	accept := fire("deal", deal.Accept{}, owner)
	creative := fire("deal", deal.SubmitDraft{Creative: `{"t":1}`}, owner)
	approve := fire("deal", deal.Approve{}, advertiser)
	publishNow := fire("deal", deal.PublishNow{}, owner)
	late := wait(100 * time.Hour) // more than every timeout
	by := func(event fsm.Payload, caller fsm.Caller) step { return fire("deal", event, caller) }
	pay := func(tag string, amount int64) step {
		return fire("deal", deal.DepositConfirmed{TxHash: "tx-" + tag, AmountNano: amount}, system)
	}
	// lived is a life with the address that the chain answers with.
	lived := func(name string, replies map[string][]reply, steps func(tag string) []step) life {
		return life{name, func(tag string) script {
			all := map[string][]reply{
				"deal.generate_deposit_address": failsOnce(deal.AddressReady{DepositAddress: "addr-" + tag}),
				"deal.publish_post":             answers(deal.StartVerification{}),
			}
			for effect, list := range replies {
				all[effect] = list
			}
			return script{steps(tag), all}
		}}
	}
	funded := func(tag string, more ...step) []step {
		return append([]step{draft, offer, accept, pay(tag, 100)}, more...)
	}
	published := func(tag string, more ...step) []step {
		return append(funded(tag, creative, approve, publishNow), more...)
	}
	plain := func(name string, steps ...step) life {
		return lived(name, nil, func(string) []step { return steps })
	}
	return []life{
		lived("paid out", map[string][]reply{"deal.refund_surplus": failsOnce(nil), "deal.execute_payout": failsOnce(nil)}, func(tag string) []step {
			return []step{
				draft, offer, accept, pay(tag, 130), creative, by(deal.RequestRevision{}, advertiser), creative, approve,
				by(deal.SetPublishTime{PublishAt: epoch.AddDate(0, 0, 1)}, owner), by(deal.AutoPublished{}, system), by(deal.VerificationPassed{}, system),
			}
		}),
		lived("paid out by the clock", nil, func(tag string) []step {
			return append([]step{draft, offer, counter, by(deal.Agree{}, advertiser), pay(tag, 90), creative, approve, publishNow}, late)
		}),
		lived("disputed and refunded", map[string][]reply{"deal.deal.events": stuck}, func(tag string) []step {
			return funded(tag, creative, by(deal.Dispute{Complaint: "no"}, advertiser), by(deal.ResolveForAdvertiser{}, operator), mend())
		}),
		lived("not published", map[string][]reply{"deal.publish_post": broken}, func(tag string) []step {
			return published(tag, by(deal.ResolveForOwner{}, operator))
		}),
		lived("not delivered", nil, func(tag string) []step {
			return published(tag, by(deal.VerificationFailed{}, system), pay(tag+"-2", 1), by(deal.ResolveForOwner{}, operator))
		}),
		lived("both cancel", nil, func(tag string) []step {
			return funded(tag, by(deal.MutualCancel{}, advertiser), by(deal.MutualCancel{}, owner), pay(tag+"-2", 5))
		}),
		lived("both cancel, the owner first", nil, func(tag string) []step {
			return funded(tag, by(deal.MutualCancel{}, owner), by(deal.MutualCancel{}, advertiser))
		}),
		lived("underpaid", nil, func(tag string) []step {
			return []step{draft, offer, accept, pay(tag, 1), by(deal.Cancel{}, advertiser)}
		}),
		lived("no creative", nil, func(tag string) []step { return funded(tag, late) }),
		lived("no review", nil, func(tag string) []step { return funded(tag, creative, late) }),
		plain("no payment", draft, offer, accept, late),
		plain("no answer", draft, offer, late),
		plain("no agreement", draft, offer, counter, late),
		plain("rejected", draft, offer, by(deal.Reject{}, owner)),
		plain("withdrawn", draft, offer, by(deal.Withdraw{}, advertiser)),
		plain("never offered", draft, by(deal.Cancel{}, advertiser)),
		plain("given up by the advertiser", draft, offer, counter, by(deal.Cancel{}, advertiser)),
		plain("given up by the owner", draft, offer, counter, by(deal.Cancel{}, owner)),
		lived("no address", map[string][]reply{"deal.generate_deposit_address": stuck}, func(string) []step {
			return []step{draft, offer, accept, by(deal.Cancel{}, advertiser)}
		}),
		lived("no address, says the owner", map[string][]reply{"deal.generate_deposit_address": stuck}, func(string) []step {
			return []step{draft, offer, accept, by(deal.Cancel{}, owner)}
		}),
	}
}
