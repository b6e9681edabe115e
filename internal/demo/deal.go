package main

import (
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// start is when the stories begin.
var start = time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)

const dealID = "6d8f0a52-1f6e-4a53-9d0f-2f1f0a6f7c01"

// walkDeal takes a deal from its draft to the payout, which the clock
// releases.
func walkDeal(t *transcript) error {
	t.title("A deal, from draft to payout")
	creative, err := fsm.ParseJSON([]byte(`{"text":"Fresh tea, every day"}`))
	if err != nil {
		return err
	}
	const price, countered = 5_000_000_000, 6_000_000_000
	advertiser, owner, system := deal.ByAdvertiser(100), deal.ByOwner(200), deal.BySystem()
	w := &walk[deal.Record, deal.Payload, deal.Actor]{
		t: t, now: start, system: system, decide: decideDeal,
		name: func(e deal.Payload) string { return e.Event().String() }, label: labelOfDeal,
	}
	err = inOrder(
		func() error { return w.after(0, advertiser, deal.Create{OwnerID: 200, PriceNano: price}) },
		func() error { return w.after(10*time.Minute, advertiser, deal.SubmitOffer{}) },
		func() error { return w.refused(time.Minute, advertiser, deal.Accept{}) },
		func() error { return w.after(2*time.Hour, owner, deal.CounterOffer{PriceNano: countered}) },
		func() error { return w.after(time.Hour, advertiser, deal.Agree{}) },
		func() error { return w.after(time.Second, system, deal.AddressReady{DepositAddress: "EQC-escrow"}) },
		func() error {
			return w.after(30*time.Minute, system, deal.DepositConfirmed{TxHash: "a1b2", AmountNano: countered})
		},
		func() error { return w.refused(time.Minute, advertiser, deal.Cancel{}) },
		func() error { return w.after(20*time.Hour, owner, deal.SubmitDraft{Creative: creative}) },
		func() error { return w.refused(time.Minute, deal.ByAdvertiser(999), deal.Approve{}) },
		func() error { return w.after(time.Hour, advertiser, deal.Approve{}) },
		func() error {
			return w.after(time.Hour, owner, deal.SetPublishTime{PublishAt: w.now.Add(24 * time.Hour)})
		},
		func() error { return w.after(24*time.Hour, system, deal.AutoPublished{}) },
		func() error { return w.after(time.Second, system, deal.StartVerification{}) }, // the scheduler has the post
		w.waitForDeadline,
	)
	if err != nil {
		return err
	}
	if !w.record.State.Terminal() {
		return fmt.Errorf("the deal ended in %s, which is not terminal", w.record.State)
	}
	t.ended("The deal ended in %s: escrow %s, %d nano.", w.record.State, w.record.Escrow, w.record.DepositNano.V)
	return nil
}

// decideDeal is one step of the generated package, whose rows raise nothing: the first one creates the
// record.
func decideDeal(r *deal.Record, e deal.Payload, by deal.Actor, now time.Time) (decision[deal.Payload], error) {
	call := deal.Call{By: by, Params: deal.DefaultParams(), Now: now}
	var steps deal.Steps
	var err error
	if r.State == 0 {
		var id fsm.UUID
		if id, err = fsm.ParseUUID(dealID); err == nil {
			*r, steps, err = deal.FireNew(id, e, call)
		}
	} else {
		steps, err = deal.Fire(r, e, call)
	}
	if err != nil {
		return decision[deal.Payload]{}, err
	}
	taken := steps.Last()
	d := decision[deal.Payload]{
		step: step{
			event: taken.Event().String(), row: taken.String(),
			from: stateName(taken.From(), taken.From() != 0), to: taken.To().String(), stays: taken.Internal(),
			effects: deal.Effects(taken, r, e, call), raises: stateName(taken.Raises(), taken.Raises() != 0),
		},
	}
	if deadline, armed := deal.DeadlineOf(r, call); armed {
		d.armed = &timer[deal.Payload]{deadline.At, deadline.Fire}
	}
	return d, nil
}

func labelOfDeal(a deal.Actor) string {
	if id, ok := a.ID.Get(); ok {
		return fmt.Sprintf("%s %d", a.Role, id)
	}
	return a.Role.String()
}
