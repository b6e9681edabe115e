package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/client"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// start is when the walks begin, and the clock of the durable part.
var start = time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)

const (
	dealID         = "6d8f0a52-1f6e-4a53-9d0f-2f1f0a6f7c01"
	registrationID = "0b9d6c34-5a0e-4c67-8f43-0e8f5f3a7702"
)

// definition is the pure part of an engine.Machine.
type definition interface {
	Create(id string, e fsm.Event, in fsm.Input) (fsm.Decision, error)
	Fire(r fsm.Record, e fsm.Event, in fsm.Input) (fsm.Decision, error)
}

// walk takes one record through events, without an engine: the clock is virtual, and effects are
// only shown.
type walk struct {
	t        *transcript
	machine  definition
	id       string
	record   fsm.Record // nil: not created
	now      time.Time
	deadline *fsm.Deadline
}

// stop is one event of a walk: who fires it, how long after the one before.
type stop struct {
	after   time.Duration
	by      engine.Option
	event   fsm.Payload // nil: the clock runs until the deadline fires
	refused bool        // the machine has to refuse it
}

// through goes from stop to stop.
func (w *walk) through(stops ...stop) error {
	for _, s := range stops {
		w.now = w.now.Add(s.after)
		var err error
		switch {
		case s.event == nil && w.deadline == nil:
			err = fmt.Errorf("no deadline is set at %s", w.now)
		case s.event == nil:
			w.now = w.deadline.At
			err = w.fire("the clock", fsm.System(), w.deadline.Fire)
		default:
			by := client.CallOf(s.by).By
			if err = w.fire(label(by), by, s.event); s.refused {
				err = w.t.refused(w.now, s.event.EventName(), label(by), err)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fire applies an event and shows the steps that it takes.
func (w *walk) fire(by string, caller fsm.Caller, payload fsm.Payload) error {
	e, err := fsm.EventOf(payload)
	if err != nil {
		return err
	}
	in := fsm.Input{By: caller, Now: w.now}
	var d fsm.Decision
	if w.record == nil {
		d, err = w.machine.Create(w.id, e, in)
	} else {
		before := fmt.Sprint(w.record.Values())
		d, err = w.machine.Fire(w.record, e, in)
		if after := fmt.Sprint(w.record.Values()); after != before {
			return fmt.Errorf("%s changed the record that it was applied to", e.Name)
		}
	}
	if err != nil {
		return err
	}
	w.record = d.Record
	for _, s := range d.Steps {
		if !s.KeepDeadline {
			w.deadline = s.Deadline
		}
		w.t.step(w.now, by, s)
		by = label(fsm.System()) // the rest was raised
	}
	return nil
}

func label(c fsm.Caller) string {
	if c.ID == "" {
		return c.Role
	}
	return c.Role + " " + c.ID
}

// walkDeal takes a deal from its draft to the payout, which the delivery releases.
func walkDeal(t *transcript) error {
	t.title("A deal, from draft to payout")
	const price, countered = 5_000_000_000, 6_000_000_000
	advertiser, owner, system := deal.ByAdvertiser(100), deal.ByOwner(200), deal.BySystem()
	w := &walk{t: t, machine: deal.Define[any](nil, deal.DefaultParams()), id: dealID, now: start}
	err := w.through(
		stop{0, advertiser, deal.Create{OwnerID: 200, PriceNano: price}, false},
		stop{10 * time.Minute, advertiser, deal.SubmitOffer{}, false},
		stop{time.Minute, advertiser, deal.Accept{}, true},
		stop{2 * time.Hour, owner, deal.CounterOffer{PriceNano: countered}, false},
		stop{time.Hour, advertiser, deal.Agree{}, false},
		stop{time.Second, system, deal.AddressReady{DepositAddress: "EQC-escrow"}, false},
		stop{30 * time.Minute, system, deal.DepositConfirmed{TxHash: "a1b2", AmountNano: countered, Withheld: 250_000_000, Commission: 150_000_000}, false},
		stop{time.Minute, advertiser, deal.Cancel{}, true},
		stop{20 * time.Hour, owner, deal.SubmitDraft{Draft: 1, Creative: fsm.JSON(`{"text":"Fresh tea, every day"}`)}, false},
		stop{time.Minute, deal.ByAdvertiser(999), deal.Approve{Draft: 1}, true},
		stop{time.Hour, advertiser, deal.Approve{Draft: 1}, false},
		stop{time.Hour, owner, deal.SetPublishTime{PublishAt: start.Add(50 * time.Hour)}, false},
		stop{24 * time.Hour, system, deal.AutoPublished{}, false},
		stop{time.Second, system, deal.StartVerification{}, false},
		stop{24 * time.Hour, system, deal.VerificationPassed{}, false},
		stop{time.Minute, system, deal.TransferReported{Outcome: deal.SettlementWaiting}, false},
		stop{time.Hour, owner, deal.SetPayoutAddress{PayoutAddress: "EQD-owner"}, false},
		stop{time.Minute, system, deal.TransferReported{Outcome: deal.SettlementMoved}, false},
	)
	if err != nil {
		return err
	}
	r, ok := w.record.(*deal.Record)
	if !ok || !r.State.Terminal() {
		return errors.New("the deal did not reach a terminal state")
	}
	t.ended("The deal ended in %s: escrow %s, %d of %d nano are the owner's, settlement %s.", r.State, r.Escrow, r.PayoutNano.V, r.DepositNano.V, r.Settlement)
	return nil
}

// walkRegistration takes a node through a half success and a retry to registered, and from there to
// deregistered.
func walkRegistration(t *transcript) error {
	t.title("A registration, through a half success to its orderly end")
	stored := fsm.Some(fsm.JSON(`{"host":"10.0.0.7","port":8080}`))
	request := registration.Register{
		Payload: stored, DeploymentID: fsm.Some("blue"), Environment: fsm.Some("production"), NetworkID: fsm.Some("net-1"),
		ConsulServiceID: fsm.Some("api-7"), ConsulServiceName: fsm.Some("api"), PostgresRecord: stored,
	}
	operator, system := registration.ByExternal("operator"), registration.BySystem()
	w := &walk{t: t, machine: registration.Define[any](nil, registration.DefaultParams()), id: registrationID, now: start}
	err := w.through(
		stop{0, operator, registration.Create{NodeID: "node-7"}, false},
		stop{time.Second, operator, registration.Deregister{}, true},
		stop{time.Second, operator, request, false},
		stop{time.Second, system, registration.ValidationPassed{ValidationResult: registration.ValidationOutcomePassed}, false},
		stop{time.Second, system, registration.PostgresSucceeded{PostgresApplied: false}, true},
		stop{time.Second, system, registration.PostgresSucceeded{PostgresApplied: true}, false},
		stop{}, // Consul does not answer: its timeout makes this a half success
		stop{time.Minute, operator, registration.Retry{}, false},
		stop{time.Second, system, registration.ConsulSucceeded{ConsulApplied: true}, false},
		stop{30 * 24 * time.Hour, operator, registration.Deregister{}, false},
		stop{time.Second, system, registration.ConsulDeregistered{ConsulCleanup: registration.CleanupRemoved}, false},
		stop{time.Second, system, registration.PostgresDeregistered{PostgresCleanup: registration.CleanupRemoved}, false},
	)
	if err != nil {
		return err
	}
	r, ok := w.record.(*registration.Record)
	if !ok || !r.State.Terminal() {
		return errors.New("the registration did not reach a terminal state")
	}
	t.ended("The registration ended in %s: Consul %s, PostgreSQL %s.", r.State, r.ConsulCleanup, r.PostgresCleanup)
	return nil
}
