package registration

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fsmgen/fsmgen/adapters/discovery"
	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// handlers carries out the effects of the machine. What a repeat can mend is
// returned as an error, so that the policy of the effect applies; what it can't
// is answered at once. The deregistrations have no policy: see document 001, Why
// No Automatic Retry for Deregistration.
type handlers struct{ s *Server }

func (h handlers) ValidatePayload(ctx context.Context, d fsm.Dispatch, e registration.ValidatePayloadEffect) (registration.ValidatePayloadAnswer, error) {
	if p := validate(e); p != nil {
		return p.answer(), nil
	}
	other, err := h.s.holder(ctx, d.Record, e.ConsulServiceID.V)
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

func (h handlers) PostgresUpsertRegistration(ctx context.Context, d fsm.Dispatch, e registration.PostgresUpsertRegistrationEffect) (registration.PostgresUpsertRegistrationAnswer, error) {
	ctx, cancel := h.s.attempt(ctx, d)
	defer cancel()
	err := h.s.registry.Upsert(ctx, rowOf(d, e))
	if err == nil {
		return registration.PostgresSucceeded{PostgresApplied: true}, nil
	}
	if kind, answered := answers(d, err); answered {
		h.s.log.WarnContext(ctx, "the row can't be written", "registration", d.Record, "error", err, "correlation", d.Correlation)
		return registration.PostgresFailed{ErrorType: kind, PostgresError: storeMessage(err)}, nil
	}
	return nil, err
}

// rowOf is the row of a registration.
func rowOf(d fsm.Dispatch, e registration.PostgresUpsertRegistrationEffect) Row {
	return Row{
		Key:          Key{e.NodeID, e.RegistrationID.String()},
		DeploymentID: e.DeploymentID.V, Environment: e.Environment.V, NetworkID: e.NetworkID.V,
		Record: []byte(e.PostgresRecord.V), CorrelationID: d.Correlation,
	}
}

func (h handlers) ConsulRegister(ctx context.Context, d fsm.Dispatch, e registration.ConsulRegisterEffect) (registration.ConsulRegisterAnswer, error) {
	ctx, cancel := h.s.attempt(ctx, d)
	defer cancel()
	err := h.s.advertise(ctx, serviceOf(e, h.s.options.TTL))
	if err == nil {
		return registration.ConsulSucceeded{ConsulApplied: true}, nil
	}
	if kind, answered := answers(d, err); answered {
		return registration.ConsulFailed{ErrorType: kind, ConsulError: message(err)}, nil
	}
	return nil, err
}

func (h handlers) ConsulDeregister(ctx context.Context, d fsm.Dispatch, e registration.ConsulDeregisterEffect) (registration.ConsulDeregisterAnswer, error) {
	ctx = discovery.WithCorrelation(ctx, d.Correlation)
	if err := h.s.discovery.Deregister(ctx, e.ConsulServiceID.V, e.RegistrationID.String()); err != nil {
		return nil, h.s.tellCleanup(ctx, d, "consul", err)
	}
	return registration.ConsulDeregistered{ConsulCleanup: registration.CleanupRemoved}, nil
}

// errAdvertised keeps a row.
var errAdvertised = errors.New("the service may still be advertised, so the row stays")

// PostgresDeleteRegistration removes the row once Consul has answered that the
// service is gone: service discovery advertises only tracked nodes (document
// 001, Dual Registration Order), so what may still be advertised keeps its row.
func (h handlers) PostgresDeleteRegistration(ctx context.Context, d fsm.Dispatch, e registration.PostgresDeleteRegistrationEffect) (registration.PostgresDeleteRegistrationAnswer, error) {
	ctx = discovery.WithCorrelation(ctx, d.Correlation)
	switch gone, err := h.s.awaitWithdrawal(ctx, d.Record); {
	case err != nil:
		return nil, err
	case !gone:
		return nil, h.s.tellCleanup(ctx, d, "postgres", errAdvertised)
	}
	if err := h.s.registry.Delete(ctx, Key{e.NodeID, e.RegistrationID.String()}); err != nil {
		return nil, h.s.tellCleanup(ctx, d, "postgres", err)
	}
	return registration.PostgresDeregistered{PostgresCleanup: registration.CleanupRemoved}, nil
}

func (h handlers) ConsulWithdraw(ctx context.Context, d fsm.Dispatch, e registration.ConsulWithdrawEffect) error {
	ctx, cancel := h.s.attempt(ctx, d)
	defer cancel()
	return h.s.discovery.Deregister(ctx, e.ConsulServiceID.V, e.RegistrationID.String())
}

// holder returns the node that a service id belongs to, "" if it is free: two
// nodes with one id would take each other's place in Consul. Of two that ask at
// once the earlier registration gets it; a transaction that asks too, and whose
// registration nobody sees yet, is waited for (see validateAtOnce).
func (s *Server) holder(ctx context.Context, registrationID, service string) (node string, err error) {
	err = s.db.read(ctx, func(q querier) error {
		if err := s.db.sets().awaitNames(ctx, q, []string{service}); err != nil {
			return err
		}
		_, err := one(ctx, q, claimant+` AND (state <> 'validating' OR registration_id < $2) LIMIT 1`, []any{service, registrationID}, &node)
		return err
	})
	return node, err
}

const (
	// claims: a registration has its service id, or may get it.
	claims = `state <> 'deregistered' AND state <> 'unregistered' AND (state <> 'failed' OR consul_applied)`
	// claimant finds the node that has the service id $1 by another registration than $2.
	claimant = `SELECT node_id FROM registration_records WHERE consul_service_id = $1 AND registration_id <> $2 AND ` + claims
)

// attempt bounds one attempt of an effect that is repeated, so that a system
// that does not answer leaves time for another within the state's timeout.
func (s *Server) attempt(ctx context.Context, d fsm.Dispatch) (context.Context, context.CancelFunc) {
	return context.WithTimeout(discovery.WithCorrelation(ctx, d.Correlation), s.options.AttemptTimeout)
}

// awaitWithdrawal waits until the record knows what came of the service, or has
// left deregistering, and reports whether the service is gone.
func (s *Server) awaitWithdrawal(ctx context.Context, id string) (gone bool, err error) {
	const first, most = 2 * time.Millisecond, 100 * time.Millisecond
	for pause := first; ; pause = min(2*pause, most) {
		r, err := s.record(ctx, id)
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

// tellCleanup logs a cleanup that failed with its cause, of which the record
// keeps only that it did.
func (s *Server) tellCleanup(ctx context.Context, d fsm.Dispatch, component string, err error) error {
	s.log.ErrorContext(ctx, "deregistration failed", "component", component, "registration", d.Record, "error", err, "correlation", d.Correlation)
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

// storeMessage is what a record keeps of an error of the database: its kind and, of
// PostgreSQL, the SQLSTATE. What the driver says of statements, users and hosts is for
// the log: the API shows the record.
func storeMessage(err error) string {
	text := "the database: " + errorType(err)
	for _, own := range []error{ErrSuperseded, ErrNotRegistered, ErrInvalid, ErrNotPermitted, ErrRefused, ErrUnreachable, ErrServer} {
		if errors.Is(err, own) {
			text = own.Error()
			break
		}
	}
	var server *pgconn.PgError
	if errors.As(err, &server) {
		text += " (SQLSTATE " + server.Code + ")"
	}
	if errors.Is(err, context.DeadlineExceeded) {
		text += " in time"
	}
	return text
}

func message(err error) string { return fsm.Message(err.Error(), 1000) }
