package registration_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	machine "github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// table is the machine without hands.
var table = machine.Define[*sql.Tx](nil, machine.DefaultParams())

// anything is every event, with each content that leads elsewhere.
func anything() []machine.Payload {
	full := machine.CorrectPayload{
		DeploymentID: fsm.Some("d"), Environment: fsm.Some("e"), NetworkID: fsm.Some("n"),
		ConsulServiceID: fsm.Some("s"), ConsulServiceName: fsm.Some("s"), PostgresRecord: fsm.Some(fsm.JSON(`{}`)),
	}
	some := fsm.Some(fsm.JSON(`{}`))
	return []machine.Payload{
		machine.Register{},
		machine.Register{Payload: some},
		machine.Register{
			Payload: some, DeploymentID: full.DeploymentID, Environment: full.Environment, NetworkID: full.NetworkID,
			ConsulServiceID: full.ConsulServiceID, ConsulServiceName: full.ConsulServiceName, PostgresRecord: full.PostgresRecord,
		},
		machine.CorrectPayload{}, full,
		machine.ValidationPassed{ValidationResult: machine.ValidationOutcomePassed},
		machine.ValidationFailed{ValidationResult: machine.ValidationOutcomeFailed, ValidationError: "x", ValidationErrorType: machine.ValidationErrorTypeInvalid},
		machine.PostgresSucceeded{PostgresApplied: true},
		machine.PostgresFailed{PostgresError: "x", ErrorType: machine.FailureTypeTimeout},
		machine.Continue{},
		machine.ConsulSucceeded{ConsulApplied: true},
		machine.ConsulFailed{ConsulError: "x", ErrorType: machine.FailureTypeTimeout},
		machine.RecoveryComplete{}, machine.RecoveryComplete{PostgresApplied: true, ConsulApplied: true},
		machine.Retry{}, machine.RetryPostgres{}, machine.RetryExhausted{}, machine.Abandon{}, machine.FatalError{},
		machine.Deregister{}, machine.DeregistrationComplete{},
		machine.ConsulDeregistered{ConsulCleanup: machine.CleanupRemoved}, machine.ConsulDeregistered{ConsulCleanup: machine.CleanupFailed},
		machine.PostgresDeregistered{PostgresCleanup: machine.CleanupRemoved}, machine.PostgresDeregistered{PostgresCleanup: machine.CleanupFailed},
	}
}

// moment is when everything happens: the table does not ask.
var moment = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// begun is a registration of which nothing is known yet.
func begun(t interface{ Fatal(...any) }) *machine.Record {
	r, _, err := machine.NewRecord(fsm.UUID{1}, machine.Create{NodeID: "n1"}, machine.ByExternal("x"), moment)
	if err != nil {
		t.Fatal(err)
	}
	return &r
}

// taken is the step by which a record takes an event, from whomever it takes it;
// false if the event is refused. What the step raises is an event of its own.
func taken(t interface{ Fatal(...any) }, r *machine.Record, payload machine.Payload) (step fsm.Step, now *machine.Record, ok bool) {
	e, err := fsm.EventOf(payload)
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range []fsm.Caller{fsm.System(), machine.ByExternal("x").Caller()} {
		d, err := table.Fire(r, e, fsm.Input{By: by, Now: moment, Single: true})
		var refused *fsm.Rejection
		switch {
		case err == nil:
			now, ok = d.Record.(*machine.Record)
			return d.Steps[0], now, ok
		case !errors.As(err, &refused):
			t.Fatal(err)
		}
	}
	return fsm.Step{}, nil, false
}

// demands reports whether a step asks for something to be done: a log line and a
// metric do not.
func demands(step fsm.Step) bool {
	return slices.ContainsFunc(step.Effects, func(e fsm.Effect) bool {
		i := slices.IndexFunc(machine.EffectInfos(), func(info fsm.EffectInfo) bool { return info.Name == e.Name })
		return machine.EffectInfos()[i].Kind == fsm.EffectCall
	})
}

// onward is the order in which a registration goes through its states if no operator
// retries. registered is where it begins anew.
var onward = []machine.State{
	machine.Unregistered, machine.Registered, machine.Deregistering,
	machine.Validating, machine.RegisteringPostgres, machine.PostgresRegistered, machine.RegisteringConsul,
	machine.PartialRegistered, machine.Failed, machine.Deregistered,
}

// TestLimitEndsEveryLoop is named by the invariant limit_ends_every_loop of the
// spec (document 001, Retry Counter Management: "prevent infinite loops"). Over
// every record that any sequence of events can lead to, a step that does not
// complete the registration retries, which counts, or leads onward, or stays
// where it is and asks for nothing. So no more than three retries and
// no more than forty steps lie between two completed registrations.
func TestLimitEndsEveryLoop(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	rows := map[string]bool{"create": true, "retry_postgres": true} // which is dead (F-001-9)
	for open := []*machine.Record{begun(t)}; len(open) > 0; {
		r := open[0]
		open = open[1:]
		for _, e := range anything() {
			step, now, ok := taken(t, r, e)
			if !ok {
				continue
			}
			counted := now.RetryCount - r.RetryCount
			further := slices.Index(onward, now.State) - slices.Index(onward, r.State)
			rows[step.Transition] = true
			retry := e.EventName() == "RETRY" || e.EventName() == "RETRY_POSTGRES"
			switch {
			case now.State == machine.Registered:
			case retry && r.RetryCount < 3:
				if counted != 1 {
					t.Errorf("%s from %+v is not counted", step.Transition, r)
				}
			case counted != 0:
				t.Errorf("%s from %+v counts %d", step.Transition, r, counted)
			case further < 0 || further == 0 && demands(step):
				t.Errorf("%s from %+v goes round", step.Transition, r)
			}
			if now.RetryCount > 3 {
				t.Errorf("%s from %+v goes beyond the limit", step.Transition, r)
			}
			key, err := json.Marshal(now)
			if err != nil {
				t.Fatal(err)
			}
			if !seen[string(key)] {
				seen[string(key)] = true
				open = append(open, now)
			}
		}
	}
	for _, row := range machine.Transitions() {
		if !rows[row.String()] {
			t.Errorf("no sequence led through %s", row)
		}
	}
}

// TestRetryLimit: whatever happens, until Consul has the service no more than
// three retries are carried out, and a fourth in partial_registered ends in
// failed (document 001, Retry Limit Enforcement).
func TestRetryLimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := begun(t)
		retries := int64(0)
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			e := rapid.SampledFrom(anything()).Draw(t, "event")
			step, now, ok := taken(t, r, e)
			if !ok {
				continue
			}
			switch e.EventName() {
			case "RETRY", "RETRY_POSTGRES":
				if r.RetryCount < 3 {
					retries++
				} else if step.Transition != "retry_refused" {
					t.Fatalf("the fourth retry is %s", step.Transition)
				}
			case "CONSUL_SUCCEEDED":
				retries = 0
			}
			if retries > 3 || now.RetryCount != retries {
				t.Fatalf("%d retries were carried out, the record counts %d", retries, now.RetryCount)
			}
			r = now
		}
	})
}

// TestLimitEndsTheLoopOfF0012: the sequences of F-001-2, which the document's
// resets let run for ever, end after the third retry. What is broken stays so.
func TestLimitEndsTheLoopOfF0012(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		breaks func(s *fixture)
		turn   string
	}{
		"PostgreSQL is away": {
			func(s *fixture) { s.database.Refuse() },
			"validating, VALIDATION_PASSED registering_postgres, POSTGRES_FAILED failed",
		},
		"CONTINUE can't be recorded": {
			func(s *fixture) { s.refuse("start_consul_registration") },
			"validating, VALIDATION_PASSED registering_postgres, FATAL_ERROR failed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFixture(t).works()
			tt.breaks(s)
			s.registers("n1")
			trace := "create unregistered, REGISTER " + tt.turn
			for range 3 {
				s.reach("n1", machine.Failed, quick)
				s.fires("n1", machine.Retry{})
				trace += ", RETRY " + tt.turn
			}
			s.reach("n1", machine.Failed, quick)
			s.wantExhausted("n1")
			s.wantTrace("n1", trace)
			s.fires("n1", machine.Abandon{})
		})
	}
}
