package registration_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	machine "github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// events fires one event of each kind, whether it is legal or not.
var events = []struct {
	name string
	fire func(r *machine.Record, now time.Time) error
}{
	{"VALIDATION_PASSED", func(r *machine.Record, now time.Time) error {
		_, err := r.ValidationPassed(machine.ValidationPassed{ValidationResult: machine.ValidationOutcomePassed}, machine.BySystem(), now)
		return err
	}},
	{"VALIDATION_FAILED", func(r *machine.Record, now time.Time) error {
		_, err := r.ValidationFailed(machine.ValidationFailed{
			ValidationResult: machine.ValidationOutcomeFailed, ValidationError: "x", ValidationErrorType: machine.ValidationErrorTypeInvalid,
		}, machine.BySystem(), now)
		return err
	}},
	{"POSTGRES_SUCCEEDED", func(r *machine.Record, now time.Time) error {
		_, err := r.PostgresSucceeded(machine.PostgresSucceeded{PostgresApplied: true}, machine.BySystem(), now)
		return err
	}},
	{"POSTGRES_FAILED", func(r *machine.Record, now time.Time) error {
		_, err := r.PostgresFailed(machine.PostgresFailed{PostgresError: "x", ErrorType: machine.FailureTypeTimeout}, machine.BySystem(), now)
		return err
	}},
	{"CONSUL_SUCCEEDED", func(r *machine.Record, now time.Time) error {
		_, err := r.ConsulSucceeded(machine.ConsulSucceeded{ConsulApplied: true}, machine.BySystem(), now)
		return err
	}},
	{"CONSUL_FAILED", func(r *machine.Record, now time.Time) error {
		_, err := r.ConsulFailed(machine.ConsulFailed{ConsulError: "x", ErrorType: machine.FailureTypeTimeout}, machine.BySystem(), now)
		return err
	}},
	{"RETRY", func(r *machine.Record, now time.Time) error {
		_, err := r.Retry(machine.ByExternal("x"), now)
		return err
	}},
	{"RETRY_POSTGRES", func(r *machine.Record, now time.Time) error {
		_, err := r.RetryPostgres(machine.ByExternal("x"), now)
		return err
	}},
	{"RETRY_EXHAUSTED", func(r *machine.Record, now time.Time) error {
		_, err := r.RetryExhausted(machine.BySystem(), now)
		return err
	}},
	{"FATAL_ERROR", func(r *machine.Record, now time.Time) error {
		_, err := r.FatalError(machine.FatalError{}, machine.BySystem(), now)
		return err
	}},
	{"RECOVERY_COMPLETE", func(r *machine.Record, now time.Time) error {
		_, err := r.RecoveryComplete(machine.RecoveryComplete{PostgresApplied: true, ConsulApplied: true}, machine.BySystem(), now)
		return err
	}},
}

// TestRetryLimit: whatever happens, between two resets no more than three retries
// are carried out, and a fourth in partial_registered ends in failed (document
// 001, Retry Limit Enforcement).
func TestRetryLimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		r, _, err := machine.NewRecord(fsm.UUID{1}, machine.Create{NodeID: "n1"}, machine.ByExternal("x"), now)
		if err != nil {
			t.Fatal(err)
		}
		text := func(s string) fsm.Optional[string] { return fsm.Some(s) }
		_, err = r.Register(machine.Register{
			Payload: fsm.Some(fsm.JSON(`{}`)), DeploymentID: text("d"), Environment: text("e"), NetworkID: text("n"),
			ConsulServiceID: text("s"), ConsulServiceName: text("s"), PostgresRecord: fsm.Some(fsm.JSON(`{}`)),
		}, machine.ByExternal("x"), now)
		if err != nil {
			t.Fatal(err)
		}
		retries := 0
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			e := events[rapid.IntRange(0, len(events)-1).Draw(t, "event")]
			before := r
			err := e.fire(&r, now)
			if err != nil && (r.State != before.State || r.RetryCount != before.RetryCount) {
				t.Fatalf("%s was refused and changed the record", e.name)
			}
			retry := e.name == "RETRY" || e.name == "RETRY_POSTGRES"
			switch {
			case err != nil:
			case retry && before.RetryCount == 3:
				if before.State != machine.PartialRegistered || r.State != machine.Failed {
					t.Fatalf("the fourth retry led from %s to %s", before.State, r.State)
				}
			case retry:
				retries++
			case e.name == "VALIDATION_PASSED", e.name == "POSTGRES_SUCCEEDED", e.name == "CONSUL_SUCCEEDED":
				retries = 0
			}
			if retries > 3 || r.RetryCount > 3 || int(r.RetryCount) != retries {
				t.Fatalf("%d retries were carried out, the record counts %d", retries, r.RetryCount)
			}
		}
	})
}

// TestRetryLoopOfTheResetRule shows the sequence of F-001-2 that the limit does
// not end, since the document resets the count before the step that fails: it
// takes a RETRY each time, which an operator or a policy decides.
func TestRetryLoopOfTheResetRule(t *testing.T) {
	t.Parallel()
	s := newStage(t).works()
	s.database.Refuse()
	s.registers("n1")
	const turns = 5 // more than the limit
	for range turns {
		if status := s.reach("n1", machine.Failed, quick); status.RetryCount != 0 {
			t.Fatalf("the count is %d", status.RetryCount)
		}
		s.fires("n1", machine.Retry{})
	}
	s.reach("n1", machine.Failed, quick)
	s.fires("n1", machine.Abandon{})
}
