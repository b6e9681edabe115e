package crashtest

import (
	"time"

	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

var registrationKinds = []Kind{Create, Fire, Chain, Answer, Deadline, Deliver, Retry, Bury, Requeue, Idempotent}

// Long enough that a crash does not let a state run out of time.
var registrationParams = registration.Params{
	ValidatingTimeout: 3 * time.Hour, RegisteringPostgresTimeout: 3 * time.Hour, RegisteringConsulTimeout: 3 * time.Hour, DeregisteringTimeout: 3 * time.Hour,
}

// What the systems around a registration answer.
var (
	validated      = registration.ValidationPassed{ValidationResult: registration.ValidationOutcomePassed}
	invalid        = registration.ValidationFailed{ValidationResult: registration.ValidationOutcomeFailed, ValidationError: "no", ValidationErrorType: registration.ValidationErrorTypeInvalid}
	upserted       = registration.PostgresSucceeded{PostgresApplied: true}
	notUpserted    = registration.PostgresFailed{ErrorType: registration.FailureTypeUnavailable, PostgresError: "down"}
	announced      = registration.ConsulSucceeded{ConsulApplied: true}
	notAnnounced   = registration.ConsulFailed{ErrorType: registration.FailureTypeUnavailable, ConsulError: "down"}
	consulRemoved  = registration.ConsulDeregistered{ConsulCleanup: registration.CleanupRemoved}
	consulKept     = registration.ConsulDeregistered{ConsulCleanup: registration.CleanupFailed}
	recordRemoved  = registration.PostgresDeregistered{PostgresCleanup: registration.CleanupRemoved}
	recordKept     = registration.PostgresDeregistered{PostgresCleanup: registration.CleanupFailed}
	validateEffect = "registration.validate_payload"
	upsertEffect   = "registration.postgres.upsert_registration"
	announceEffect = "registration.consul.register"
	withdrawEffect = "registration.consul.withdraw"
	removeConsul   = "registration.consul.deregister"
	removeRecord   = "registration.postgres.delete_registration"
)

func registrationLives() []life {
	external := registration.ByExternal("x-1").Caller()
	node := func(tag string) step {
		return create("registration", registration.Create{NodeID: tag}, external)
	}
	register := fire("registration", registration.Register{
		Payload: fsm.Some(fsm.JSON(`{"a":1}`)), DeploymentID: fsm.Some("d"), Environment: fsm.Some("e"), NetworkID: fsm.Some("n"),
		ConsulServiceID: fsm.Some("c"), ConsulServiceName: fsm.Some("s"), PostgresRecord: fsm.Some(fsm.JSON(`{"k":1}`)),
	}, external)
	incomplete := fire("registration", registration.Register{Payload: fsm.Some(fsm.JSON(`{}`))}, external)
	correct := fire("registration", registration.CorrectPayload{
		DeploymentID: fsm.Some("d"), Environment: fsm.Some("e"), NetworkID: fsm.Some("n"),
		ConsulServiceID: fsm.Some("c"), ConsulServiceName: fsm.Some("s"), PostgresRecord: fsm.Some(fsm.JSON(`{"k":1}`)),
	}, external)
	retry := fire("registration", registration.Retry{}, external)
	abandon := fire("registration", registration.Abandon{}, external)
	leave := fire("registration", registration.Deregister{}, external)
	fatal := fire("registration", registration.FatalError{}, system)
	// replies answers with success where nothing else is said.
	replies := func(special map[string][]reply) map[string][]reply {
		out := map[string][]reply{
			validateEffect: answers(validated), upsertEffect: answers(upserted), announceEffect: answers(announced),
			removeConsul: answers(consulRemoved), removeRecord: answers(recordRemoved),
		}
		for effect, list := range special {
			out[effect] = list
		}
		return out
	}
	return []life{
		{"there and gone", func(tag string) script {
			return script{[]step{node(tag), register, leave}, replies(map[string][]reply{upsertEffect: failsOnce(upserted)})}
		}},
		{"corrected", func(tag string) script {
			return script{[]step{node(tag), incomplete, retry, correct, retry}, replies(map[string][]reply{validateEffect: answers(invalid, validated)})}
		}},
		{"invalid, then abandoned", func(tag string) script {
			return script{[]step{node(tag), register, correct, abandon}, replies(map[string][]reply{validateEffect: answers(invalid)})}
		}},
		{"discovery is down", func(tag string) script {
			return script{[]step{node(tag), register, retry, retry, retry, retry, abandon}, replies(map[string][]reply{announceEffect: answers(notAnnounced)})}
		}},
		{"recovered late", func(tag string) script {
			return script{
				[]step{node(tag), register, fire("registration", registration.RecoveryComplete{PostgresApplied: true, ConsulApplied: true}, system)},
				replies(map[string][]reply{announceEffect: {{broken: true}}}),
			}
		}},
		{"the database is down", func(tag string) script {
			return script{[]step{node(tag), register, retry}, replies(map[string][]reply{upsertEffect: answers(notUpserted, upserted)})}
		}},
		// The database loses an advertised node; a dead letter holds up the lane to
		// Consul, so that the next announcement comes too late.
		{"withdrawn, and in time again", func(tag string) script {
			return script{
				[]step{node(tag), register, fatal, retry, retry, wait(4 * time.Hour), mend(), retry},
				replies(map[string][]reply{upsertEffect: answers(upserted, notUpserted, upserted), withdrawEffect: stuck}),
			}
		}},
		{"half removed", func(tag string) script {
			return script{[]step{node(tag), register, leave}, replies(map[string][]reply{removeConsul: answers(consulKept)})}
		}},
		{"the other half removed", func(tag string) script {
			return script{[]step{node(tag), register, leave}, replies(map[string][]reply{removeRecord: answers(recordKept)})}
		}},
		{"fatal from the start", func(tag string) script {
			return script{[]step{node(tag), fatal, abandon}, replies(nil)}
		}},
		{"the validator is broken", func(tag string) script {
			return script{[]step{node(tag), register, abandon}, replies(map[string][]reply{validateEffect: broken})}
		}},
	}
}
