package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// registrationScript is what the operator does. Of ten nodes one is slow in Consul and one is banned
// there; every second one is deregistered again.
func registrationScript() script[registration.Payload, *registration.Record] {
	operator := registration.ByExternal("operator")
	return script[registration.Payload, *registration.Record]{
		open: func(n int, _ time.Time) (registration.Payload, engine.Option) {
			return registration.Create{NodeID: fmt.Sprintf("node-%d", n)}, operator
		},
		moves: func(r *registration.Record, at point) []move[registration.Payload] {
			return []move[registration.Payload]{
				{registration.Unregistered, always, operator, request(at.n), registration.Deregister{}},
				{registration.Failed, r.RetryCount < 3, operator, registration.Retry{}, nil},
				{registration.Failed, always, operator, registration.Abandon{}, registration.Retry{}},
				{registration.PartialRegistered, always, operator, registration.Retry{}, nil},
				{registration.Registered, at.n%2 == 0, operator, registration.Deregister{}, nil},
			}
		},
		rest: []fmt.Stringer{registration.Registered},
	}
}

// request is the payload of a node. Its id in Consul says what happens to it there.
func request(n int) registration.Register {
	id := fmt.Sprintf("api-%d", n)
	switch n % 10 {
	case 6:
		id = "slow-" + id
	case 7:
		id = "banned-" + id
	}
	return registration.Register{
		Payload: fsm.Some(fsm.JSON(`{"source":"operator"}`)), DeploymentID: fsm.Some("blue"), Environment: fsm.Some("production"), NetworkID: fsm.Some("net-1"),
		ConsulServiceID: fsm.Some(id), ConsulServiceName: fsm.Some("api"), PostgresRecord: fsm.Some(fsm.JSON(`{"host":"10.0.0.7"}`)),
	}
}

func registrationAnswer(ctx context.Context, o Outside, d fsm.Dispatch) (fsm.Payload, error) {
	switch d.Effect {
	case "validate_payload":
		return registration.ValidationPassed{ValidationResult: registration.ValidationOutcomePassed}, nil
	case "postgres.upsert_registration":
		return registration.PostgresSucceeded{PostgresApplied: true}, nil
	case "consul.register":
		if mentions(d, "banned-") {
			return registration.ConsulFailed{ErrorType: registration.FailureTypeConstraintViolation, ConsulError: "the node is banned"}, nil
		}
		if mentions(d, "slow-") && !o.has("asked", d.Record) {
			err := o.put(nil, "asked", d.Record)
			<-ctx.Done() // a system that does not answer; the state times out meanwhile
			return nil, errors.Join(err, ctx.Err())
		}
		return registration.ConsulSucceeded{ConsulApplied: true}, nil
	case "consul.deregister":
		return registration.ConsulDeregistered{ConsulCleanup: registration.CleanupRemoved}, nil
	case "postgres.delete_registration":
		return registration.PostgresDeregistered{PostgresCleanup: registration.CleanupRemoved}, nil
	}
	return nil, nil
}
