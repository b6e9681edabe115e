package service

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

func registrationRole(o Outside) Role {
	const timeout = time.Minute
	return Role{
		Machine: registration.Define[*sql.Tx](registrationHandlers{o}, registration.Params{
			ValidatingTimeout: timeout, RegisteringPostgresTimeout: timeout, RegisteringConsulTimeout: timeout, DeregisteringTimeout: timeout,
		}),
		Open: func(n int, _ time.Time) (Opening, error) {
			return Opening{registration.Create{NodeID: fmt.Sprintf("node-%d", n)}, operator()}, nil
		},
		Next: simple(nextOfRegistration),
	}
}

func operator() fsm.Caller { return registration.ByExternal("operator").Caller() }

// The nodes whose names say what befalls them in Consul.
const (
	slowStory   = 6 // Consul does not answer the first time: the state times out
	bannedStory = 7 // Consul refuses every time: the retries are exhausted
)

// nextOfRegistration is what the operator does. Of ten nodes one is slow in
// Consul, one is banned there, one has an invalid name at first and one an
// incomplete payload; every second one is deregistered again.
func nextOfRegistration(r *registration.Record, at Point) Move {
	story := at.N % 10
	switch r.State {
	case registration.Unregistered:
		return Move{Event: request(at.N, story), By: operator(), Wrong: registration.Deregister{}}
	case registration.Failed:
		switch {
		case r.ValidationError.IsSet && (!r.DeploymentID.IsSet || !validName(r.ConsulServiceName.V)):
			return Move{Event: correction(at.N), By: operator()}
		case r.RetryCount < 3:
			return Move{Event: registration.Retry{}, By: operator()}
		}
		return Move{Event: registration.Abandon{}, By: operator(), Wrong: registration.Retry{}}
	case registration.PartialRegistered:
		return Move{Event: registration.Retry{}, By: operator()}
	case registration.Registered:
		if at.N%2 == 1 {
			return rest()
		}
		return Move{Event: registration.Deregister{}, By: operator()}
	}
	return untilTerminal(r.State.Terminal())
}

// request is a payload as the operator sends it first.
func request(n, story int) registration.Register {
	c := correction(n)
	r := registration.Register{
		Payload: fsm.Some(fsm.JSON(`{"source":"operator"}`)), DeploymentID: c.DeploymentID, Environment: c.Environment, NetworkID: c.NetworkID,
		ConsulServiceID: c.ConsulServiceID, ConsulServiceName: c.ConsulServiceName, PostgresRecord: c.PostgresRecord,
	}
	switch story {
	case 8:
		r.ConsulServiceName = fsm.Some("not a name")
	case 9:
		r.DeploymentID = fsm.None[string]()
	}
	return r
}

// correction is a payload without a fault.
func correction(n int) registration.CorrectPayload {
	id := fmt.Sprintf("api-%d", n)
	switch n % 10 {
	case slowStory:
		id = "slow-" + id
	case bannedStory:
		id = "banned-" + id
	}
	return registration.CorrectPayload{
		DeploymentID: fsm.Some("blue"), Environment: fsm.Some("production"), NetworkID: fsm.Some("net-1"),
		ConsulServiceID: fsm.Some(id), ConsulServiceName: fsm.Some("api"), PostgresRecord: fsm.Some(fsm.JSON(`{"host":"10.0.0.7"}`)),
	}
}

func validName(name string) bool { return !strings.Contains(name, " ") }

// registrationHandlers writes to two directories of services, one that stands
// in for PostgreSQL and one for Consul.
type registrationHandlers struct{ out Outside }

var _ registration.Handlers[*sql.Tx] = registrationHandlers{}

func (h registrationHandlers) ValidatePayload(ctx context.Context, _ fsm.Dispatch, e registration.ValidatePayloadEffect) (registration.ValidatePayloadAnswer, error) {
	if err := h.out.work(ctx, 1); err != nil {
		return nil, err
	}
	if name := e.ConsulServiceName.V; !validName(name) {
		return registration.ValidationFailed{
			ValidationResult: registration.ValidationOutcomeFailed, ValidationErrorType: registration.ValidationErrorTypeInvalid,
			ValidationError: fmt.Sprintf("consul_service_name %q has a space", name),
		}, nil
	}
	return registration.ValidationPassed{ValidationResult: registration.ValidationOutcomePassed}, nil
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
