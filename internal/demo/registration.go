package main

import (
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

const registrationID = "0b9d6c34-5a0e-4c67-8f43-0e8f5f3a7702"

// walkRegistration takes a node from its first request through a half
// success and a retry to registered, and from there to deregistered.
func walkRegistration(t *transcript) error {
	t.title("A registration, through a half success to its orderly end")
	stored, err := fsm.ParseJSON([]byte(`{"host":"10.0.0.7","port":8080}`))
	if err != nil {
		return err
	}
	request := registration.Register{
		Payload: fsm.Some(stored), DeploymentID: fsm.Some("blue"), Environment: fsm.Some("production"), NetworkID: fsm.Some("net-1"),
		ConsulServiceID: fsm.Some("api-7"), ConsulServiceName: fsm.Some("api"), PostgresRecord: fsm.Some(stored),
	}
	operator, system := registration.ByExternal("operator"), registration.BySystem()
	w := &walk[registration.Record, registration.Payload, registration.Actor]{
		t: t, now: start, system: system, decide: decideRegistration,
		name: func(e registration.Payload) string { return e.Event().String() }, label: labelOfRegistration,
	}
	err = inOrder(
		func() error { return w.after(0, operator, registration.Create{NodeID: "node-7"}) },
		func() error { return w.refused(time.Second, operator, registration.Deregister{}) },
		func() error { return w.after(time.Second, operator, request) },
		func() error {
			return w.after(time.Second, system, registration.ValidationPassed{ValidationResult: registration.ValidationOutcomePassed})
		},
		func() error {
			return w.refused(time.Second, system, registration.PostgresSucceeded{PostgresApplied: false})
		},
		func() error {
			return w.after(time.Second, system, registration.PostgresSucceeded{PostgresApplied: true})
		},
		w.waitForDeadline, // Consul does not answer: its timeout makes this a half success
		func() error { return w.after(time.Minute, operator, registration.Retry{}) },
		func() error { return w.after(time.Second, system, registration.ConsulSucceeded{ConsulApplied: true}) },
		func() error { return w.after(30*24*time.Hour, operator, registration.Deregister{}) },
		func() error {
			return w.after(time.Second, system, registration.ConsulDeregistered{ConsulCleanup: registration.CleanupRemoved})
		},
		func() error {
			return w.after(time.Second, system, registration.PostgresDeregistered{PostgresCleanup: registration.CleanupRemoved})
		},
	)
	if err != nil {
		return err
	}
	if !w.record.State.Terminal() {
		return fmt.Errorf("the registration ended in %s, which is not terminal", w.record.State)
	}
	t.ended("The registration ended in %s: Consul %s, PostgreSQL %s.", w.record.State, w.record.ConsulCleanup, w.record.PostgresCleanup)
	return nil
}

// decideRegistration is one step of the generated package: the first one
// creates the record.
func decideRegistration(r *registration.Record, e registration.Payload, by registration.Actor, now time.Time) (decision[registration.Payload], error) {
	call := registration.Call{By: by, Params: registration.DefaultParams(), Now: now}
	var steps registration.Steps
	var err error
	if r.State == 0 {
		var id fsm.UUID
		if id, err = fsm.ParseUUID(registrationID); err == nil {
			*r, steps, err = registration.FireNew(id, e, call)
		}
	} else {
		steps, err = registration.Step(r, e, call)
	}
	if err != nil {
		return decision[registration.Payload]{}, err
	}
	taken := steps.Last()
	d := decision[registration.Payload]{
		step: step{
			event: taken.Event().String(), row: taken.String(),
			from: stateName(taken.From(), taken.From() != 0), to: taken.To().String(), stays: taken.Internal(),
			effects: registration.Effects(taken, r, e, call), raises: stateName(taken.Raises(), taken.Raises() != 0),
		},
		raised: registration.Raised(taken, r, e, call),
	}
	if deadline, armed := registration.DeadlineOf(r, call); armed {
		d.armed = &timer[registration.Payload]{deadline.At, deadline.Fire}
	}
	return d, nil
}

func labelOfRegistration(a registration.Actor) string {
	if id, ok := a.ID.Get(); ok {
		return fmt.Sprintf("%s %s", a.Role, id)
	}
	return a.Role.String()
}
