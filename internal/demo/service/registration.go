package service

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

type registrationMove = move[registration.Payload]

func registrationParams() registration.Params {
	return registration.Params{
		ValidatingTimeout: time.Minute, RegisteringPostgresTimeout: time.Minute, RegisteringConsulTimeout: time.Minute, DeregisteringTimeout: time.Minute,
	}
}

func registrationScenario() scenario[registration.Payload, *registration.Record] {
	open := func(n int, _ time.Time) (opening[registration.Payload], error) {
		return opening[registration.Payload]{registration.Create{NodeID: fmt.Sprintf("node-%d", n)}, operator()}, nil
	}
	return scenario[registration.Payload, *registration.Record]{open, nextOfRegistration}
}

func operator() registration.Actor { return registration.ByExternal("operator") }

// The records whose ids in Consul say what happens to them there.
const (
	slowNode   = 6 // Consul does not answer the first time: the state times out
	bannedNode = 7 // Consul refuses every time: the retries are exhausted
)

// nextOfRegistration is what the operator does. Of ten nodes one is slow in Consul and one is banned
// there; every second one is deregistered again.
func nextOfRegistration(r *registration.Record, at point) registrationMove {
	switch r.State {
	case registration.Unregistered:
		return registrationMove{event: request(at.n), by: operator(), wrong: registration.Deregister{}}
	case registration.Failed:
		if r.RetryCount < 3 {
			return registrationMove{event: registration.Retry{}, by: operator()}
		}
		return registrationMove{event: registration.Abandon{}, by: operator(), wrong: registration.Retry{}}
	case registration.PartialRegistered:
		return registrationMove{event: registration.Retry{}, by: operator()}
	case registration.Registered:
		if at.n%2 == 1 {
			return registrationMove{rest: true}
		}
		return registrationMove{event: registration.Deregister{}, by: operator()}
	}
	return registrationMove{rest: r.State.Terminal()}
}

// request is the payload of a node.
func request(n int) registration.Register {
	id := fmt.Sprintf("api-%d", n)
	switch n % 10 {
	case slowNode:
		id = "slow-" + id
	case bannedNode:
		id = "banned-" + id
	}
	return registration.Register{
		Payload: fsm.Some(fsm.JSON(`{"source":"operator"}`)), DeploymentID: fsm.Some("blue"), Environment: fsm.Some("production"), NetworkID: fsm.Some("net-1"),
		ConsulServiceID: fsm.Some(id), ConsulServiceName: fsm.Some("api"), PostgresRecord: fsm.Some(fsm.JSON(`{"host":"10.0.0.7"}`)),
	}
}

// registrationHandlers writes to two directories of services, one that stands
// in for PostgreSQL and one for Consul.
type registrationHandlers struct{ out Outside }

var _ registration.Handlers[tx] = registrationHandlers{}

func (h registrationHandlers) ValidatePayload(ctx context.Context, _ fsm.Dispatch, _ registration.ValidatePayloadEffect) (registration.ValidatePayloadAnswer, error) {
	return registration.ValidationPassed{ValidationResult: registration.ValidationOutcomePassed}, h.out.work(ctx, 1)
}

func (h registrationHandlers) PostgresUpsertRegistration(ctx context.Context, d fsm.Dispatch, e registration.PostgresUpsertRegistrationEffect) (registration.PostgresUpsertRegistrationAnswer, error) {
	if err := h.out.call(ctx, "postgres", d); err != nil {
		return nil, err
	}
	if err := h.out.put("postgres", e.RegistrationID.String(), d.Payload); err != nil {
		return nil, err
	}
	return registration.PostgresSucceeded{PostgresApplied: true}, nil
}

func (h registrationHandlers) ConsulRegister(ctx context.Context, d fsm.Dispatch, e registration.ConsulRegisterEffect) (registration.ConsulRegisterAnswer, error) {
	name := e.ConsulServiceID.V
	if strings.HasPrefix(name, "banned-") {
		return registration.ConsulFailed{ErrorType: registration.FailureTypeConstraintViolation, ConsulError: name + " is banned"}, h.out.work(ctx, 1)
	}
	if strings.HasPrefix(name, "slow-") && !h.out.has("consul", name+".asked") {
		if err := h.out.put("consul", name+".asked", nil); err != nil {
			return nil, err
		}
		<-ctx.Done() // a system that does not answer; the state times out meanwhile
		return nil, ctx.Err()
	}
	if err := h.out.call(ctx, "consul", d); err != nil {
		return nil, err
	}
	if err := h.out.put("consul", name, d.Payload); err != nil {
		return nil, err
	}
	return registration.ConsulSucceeded{ConsulApplied: true}, nil
}

func (h registrationHandlers) ConsulDeregister(ctx context.Context, d fsm.Dispatch, e registration.ConsulDeregisterEffect) (registration.ConsulDeregisterAnswer, error) {
	if err := h.out.call(ctx, "consul", d); err != nil {
		return nil, err
	}
	return registration.ConsulDeregistered{ConsulCleanup: registration.CleanupRemoved}, h.out.remove("consul", e.ConsulServiceID.V)
}

func (h registrationHandlers) PostgresDeleteRegistration(ctx context.Context, d fsm.Dispatch, e registration.PostgresDeleteRegistrationEffect) (registration.PostgresDeleteRegistrationAnswer, error) {
	if err := h.out.call(ctx, "postgres", d); err != nil {
		return nil, err
	}
	return registration.PostgresDeregistered{PostgresCleanup: registration.CleanupRemoved}, h.out.remove("postgres", e.RegistrationID.String())
}

func (h registrationHandlers) ConsulWithdraw(ctx context.Context, d fsm.Dispatch, e registration.ConsulWithdrawEffect) error {
	if err := h.out.call(ctx, "consul", d); err != nil {
		return err
	}
	return h.out.remove("consul", e.ConsulServiceID.V)
}
