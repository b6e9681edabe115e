package registration

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/fsmgen/fsmgen/adapters/discovery"
	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/registration/database"
)

// handlers carries out the effects of the machine. What a repeat can mend is
// returned as an error, so that the policy of the effect applies; what it can't
// is answered at once. The deregistrations have no policy: see document 001, Why
// No Automatic Retry for Deregistration.
type handlers struct {
	records    *records
	advertiser *advertiser
	log        *slog.Logger
}

func (h *handlers) ValidatePayload(ctx context.Context, d fsm.Dispatch, e registration.ValidatePayloadEffect) (registration.ValidatePayloadAnswer, error) {
	if p := validate(e); p != nil {
		return p.answer(), nil
	}
	other, err := h.records.db.Holder(ctx, d.Record, e.ConsulServiceID.V)
	if err != nil {
		return nil, err
	}
	return judged(other), nil
}

// judged is the answer to a payload that is valid in itself, whose service id is
// that of another node, or of none ("").
func judged(holder string) registration.ValidatePayloadAnswer {
	if holder != "" {
		p := problem{registration.ValidationErrorTypeInvalid, fmt.Sprintf("consul_service_id is that of node %q", holder)}
		return p.answer()
	}
	return registration.ValidationPassed{ValidationResult: registration.ValidationOutcomePassed}
}

func (h *handlers) PostgresUpsertRegistration(ctx context.Context, d fsm.Dispatch, e registration.PostgresUpsertRegistrationEffect) (registration.PostgresUpsertRegistrationAnswer, error) {
	ctx, cancel := h.attempt(ctx, d)
	defer cancel()
	err := h.advertiser.rows.Upsert(ctx, rowOf(d, e))
	if err == nil {
		return registration.PostgresSucceeded{PostgresApplied: true}, nil
	}
	if kind, answered := answers(d, err); answered {
		h.log.WarnContext(ctx, "the row can't be written", "registration", d.Record, "error", err, "correlation", d.Correlation)
		return registration.PostgresFailed{ErrorType: kind, PostgresError: database.Message(err)}, nil
	}
	return nil, err
}

// rowOf is the row of a registration.
func rowOf(d fsm.Dispatch, e registration.PostgresUpsertRegistrationEffect) Row {
	return Row{
		Key:          Key{NodeID: e.NodeID, RegistrationID: e.RegistrationID.String()},
		DeploymentID: e.DeploymentID.V, Environment: e.Environment.V, NetworkID: e.NetworkID.V,
		Record: []byte(e.PostgresRecord.V), CorrelationID: d.Correlation,
	}
}

func (h *handlers) ConsulRegister(ctx context.Context, d fsm.Dispatch, e registration.ConsulRegisterEffect) (registration.ConsulRegisterAnswer, error) {
	ctx, cancel := h.attempt(ctx, d)
	defer cancel()
	err := h.advertiser.advertise(ctx, serviceOf(e, h.advertiser.ttl))
	if err == nil {
		return registration.ConsulSucceeded{ConsulApplied: true}, nil
	}
	if kind, answered := answers(d, err); answered {
		return registration.ConsulFailed{ErrorType: kind, ConsulError: message(err)}, nil
	}
	return nil, err
}

func (h *handlers) ConsulDeregister(ctx context.Context, d fsm.Dispatch, e registration.ConsulDeregisterEffect) (registration.ConsulDeregisterAnswer, error) {
	ctx = discovery.WithCorrelation(ctx, d.Correlation)
	if err := h.advertiser.discovery.Deregister(ctx, e.ConsulServiceID.V, e.RegistrationID.String()); err != nil {
		return nil, h.logCleanup(ctx, d, "consul", err)
	}
	return registration.ConsulDeregistered{ConsulCleanup: registration.CleanupRemoved}, nil
}

// errAdvertised keeps a row.
var errAdvertised = errors.New("the service may still be advertised, so the row stays")

// PostgresDeleteRegistration removes the row once Consul has answered that the
// service is gone: service discovery advertises only tracked nodes (document
// 001, Dual Registration Order), so what may still be advertised keeps its row.
func (h *handlers) PostgresDeleteRegistration(ctx context.Context, d fsm.Dispatch, e registration.PostgresDeleteRegistrationEffect) (registration.PostgresDeleteRegistrationAnswer, error) {
	ctx = discovery.WithCorrelation(ctx, d.Correlation)
	switch gone, err := h.awaitWithdrawal(ctx, d.Record); {
	case err != nil:
		return nil, err
	case !gone:
		return nil, h.logCleanup(ctx, d, "postgres", errAdvertised)
	}
	if err := h.advertiser.rows.Delete(ctx, Key{NodeID: e.NodeID, RegistrationID: e.RegistrationID.String()}); err != nil {
		return nil, h.logCleanup(ctx, d, "postgres", err)
	}
	return registration.PostgresDeregistered{PostgresCleanup: registration.CleanupRemoved}, nil
}

func (h *handlers) ConsulWithdraw(ctx context.Context, d fsm.Dispatch, e registration.ConsulWithdrawEffect) error {
	ctx, cancel := h.attempt(ctx, d)
	defer cancel()
	return h.advertiser.discovery.Deregister(ctx, e.ConsulServiceID.V, e.RegistrationID.String())
}

// attempt bounds one attempt of an effect that is repeated, so that a system
// that does not answer leaves time for another within the state's timeout.
func (h *handlers) attempt(ctx context.Context, d fsm.Dispatch) (context.Context, context.CancelFunc) {
	return context.WithTimeout(discovery.WithCorrelation(ctx, d.Correlation), h.advertiser.attempt)
}

// awaitWithdrawal waits until the record knows what came of the service, or has
// left deregistering, and reports whether the service is gone.
func (h *handlers) awaitWithdrawal(ctx context.Context, id string) (gone bool, err error) {
	const first, most = 2 * time.Millisecond, 100 * time.Millisecond
	for pause := first; ; pause = min(2*pause, most) {
		r, err := h.records.Record(ctx, id)
		if err != nil || r.State != registration.Deregistering || r.ConsulCleanup != registration.CleanupPending {
			return err == nil && r.ConsulCleanup == registration.CleanupRemoved, err
		}
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// logCleanup logs a cleanup that failed with its cause, of which the record
// keeps only that it did.
func (h *handlers) logCleanup(ctx context.Context, d fsm.Dispatch, component string, err error) error {
	h.log.ErrorContext(ctx, "deregistration failed", "component", component, "registration", d.Record, "error", err, "correlation", d.Correlation)
	return err
}

// answers tells which failure an error is, and whether it is the answer: a
// repeat would meet it again, or there is none left.
func answers(d fsm.Dispatch, err error) (registration.FailureType, bool) {
	for _, permanent := range []error{ErrInvalid, ErrSuperseded, ErrNotRegistered} {
		if errors.Is(err, permanent) {
			return registration.FailureTypeConstraintViolation, true
		}
	}
	kind := registration.FailureTypeUnavailable
	if errors.Is(err, context.DeadlineExceeded) {
		kind = registration.FailureTypeTimeout
	}
	return kind, errors.Is(err, ErrNotPermitted) || errors.Is(err, errNoDiscovery) || d.Attempt > attemptsOf(d.Effect)
}

// attemptsOf is how often an effect is repeated.
func attemptsOf(effect string) int {
	for _, info := range registration.EffectInfos() {
		if info.Name == effect {
			return info.Retry.Attempts
		}
	}
	return 0
}

func message(err error) string { return fsm.Message(err.Error(), 1000) }
