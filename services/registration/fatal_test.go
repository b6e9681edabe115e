package registration_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/gen"
	machine "github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// TestScenario6FatalError: a step of registering_consul can't be recorded. From
// failed an operator retries, or abandons.
func TestScenario6FatalError(t *testing.T) {
	t.Parallel()
	overPostgres(t, func(t *testing.T, s *fixture) {
		s.works()
		mend := s.refuse("consul_success")
		s.registers("n1")
		s.registers("n2")
		s.reach("n1", machine.Failed, quick)
		s.reach("n2", machine.Failed, quick)
		if !s.counts(1, "registration_fatal_error_total", "from_state", "registering_consul", "node_id", "n1") {
			t.Error("registration_fatal_error_total was not counted")
		}
		if !strings.Contains(s.logs.text(), `"level":"ERROR+4","msg":"Fatal error during registration workflow"`) {
			t.Error("the fatal error was not logged as critical")
		}
		mend()
		s.fires("n1", machine.Retry{})
		s.reach("n1", machine.Registered, quick)
		s.wantBoth("n1", true, true)
		s.fires("n2", machine.Abandon{})
		s.await("n2", machine.Deregistered)
	})
}

// TestScenario8ContinueFails: document 001, CONTINUE Trigger Failure Handling, in
// both execution modes.
func TestScenario8ContinueFails(t *testing.T) {
	t.Parallel()
	for name, twoStep := range map[string]bool{"single-step": false, "two-step": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			overPostgres(t, func(t *testing.T, s *fixture) {
				s.options.TwoStep = twoStep
				s.works()
				mend := s.refuse("start_consul_registration")
				s.registers("n1")
				s.reach("n1", machine.Failed, quick)
				from := "registering_postgres" // the chain was undone (F-001-39)
				if twoStep {
					from = "postgres_registered"
				}
				if !s.counts(1, "registration_fatal_error_total", "from_state", from) {
					t.Errorf("no fatal error was counted from %s", from)
				}
				if !s.counts(1, "registration_internal_error", "node_id", "n1") {
					t.Error("registration_internal_error was not counted")
				}
				if len(s.advertised()) != 0 {
					t.Errorf("Consul has %v", s.advertised())
				}
				mend()
				s.fires("n1", machine.Retry{})
				s.reach("n1", machine.Registered, quick)
				s.wantBoth("n1", true, true)
			})
		})
	}
}

// TestScenario9GuardBlocks: a guard that does not hold blocks the transition, and
// the record stays where it is. A guard that raises an error can't be written:
// its types are checked when the table is compiled.
func TestScenario9GuardBlocks(t *testing.T) {
	t.Parallel()
	scenarios(t, func(t *testing.T, s *fixture) {
		s.works().consul.Refuse()
		s.registers("n1")
		before := s.reach("n1", machine.PartialRegistered, quick)
		_, err := s.server.Trigger(t.Context(), "n1", machine.RetryPostgres{}, call(""))
		var refused *fsm.Rejection
		if !errors.As(err, &refused) || refused.Failure != "guard_failed" {
			t.Fatalf("got %v", err)
		}
		if after := s.status("n1"); after.Version != before.Version {
			t.Errorf("the record has moved on to %+v", after)
		}
		s.consul.Restore()
		s.fires("n1", machine.Retry{})
		s.reach("n1", machine.Registered, quick)
	})
}

// TestScenario10ContractDoesNotLoad: a guard that is not one stops the table from
// being compiled, so no daemon can be built with it.
func TestScenario10ContractDoesNotLoad(t *testing.T) {
	t.Parallel()
	const path = "../../spec/registration.yaml"
	table, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for wrong, code := range map[string]string{
		"retry_count<3": "GUARD_SYNTAX_ERROR", "retry_count ~= 3": "GUARD_INVALID_OPERATOR",
		"2retry < 3": "GUARD_INVALID_FIELD", "retry_count < [3": "GUARD_INVALID_VALUE",
	} {
		text := strings.Replace(string(table), "when: [postgres_applied == true, retry_count < 3]", "when: ['postgres_applied == true', '"+wrong+"']", 1)
		if text == string(table) {
			t.Fatal("the guard to break is not there")
		}
		result, found, err := gen.Compile([]gen.Source{{Path: path, Data: []byte(text)}}, gen.Options{})
		if err != nil {
			t.Fatal(err)
		}
		codes := []string{}
		for _, d := range found.Sorted() {
			codes = append(codes, string(d.Code))
		}
		if !slices.Contains(codes, code) || len(result.Files) != 0 {
			t.Errorf("%s: %d files and the diagnostics %v, want %s", wrong, len(result.Files), codes, code)
		}
	}
}

// TestIntentCannotBeEmitted: document 001, When to Trigger FATAL_ERROR, second
// row. The step that asks for the effect is undone.
func TestIntentCannotBeEmitted(t *testing.T) {
	t.Parallel()
	s := newFixture(t).works()
	s.sql("ALTER TABLE " + s.options.Schema + ".fsm_outbox ADD CONSTRAINT broken CHECK (effect <> 'postgres.upsert_registration')")
	s.registers("n1")
	s.await("n1", machine.Failed)
	s.wantTrace("n1", "create unregistered, REGISTER validating, FATAL_ERROR failed")
	s.wantBoth("n1", false, false)
	if !s.counts(1, "registration_fatal_error_total", "from_state", "validating") || !s.counts(1, "registration_internal_error", "node_id", "n1") {
		t.Error("the failure was not counted once")
	}
	s.sql("ALTER TABLE " + s.options.Schema + ".fsm_outbox DROP CONSTRAINT broken")
	s.fires("n1", machine.Retry{})
	s.await("n1", machine.Registered)
}

// TestUnreadableIntents: document 001, When to Trigger FATAL_ERROR, third row. The
// table answers what can't be read as it answers any failure of the effect:
// FATAL_ERROR in validating, the failure of the system elsewhere.
func TestUnreadableIntents(t *testing.T) {
	t.Parallel()
	for effect, want := range map[string]string{
		"validate_payload":             "FATAL_ERROR failed",
		"postgres.upsert_registration": "POSTGRES_FAILED failed",
		"consul.register":              "CONSUL_FAILED partial_registered",
	} {
		t.Run(effect, func(t *testing.T) {
			t.Parallel()
			s := newFixture(t)
			const lease = time.Second
			s.options.Engine = func(c *engine.Config) { c.PollInterval, c.Lease = 5*time.Millisecond, lease }
			taken := s.blockAt(engine.OpEffect, effect)
			s.options.Apart = true
			s.works().registers("n1")
			<-taken.reached
			outbox := s.options.Schema + ".fsm_outbox"
			s.sql("ALTER TABLE " + outbox + " DISABLE TRIGGER fsm_outbox_fixed")
			s.sql("UPDATE " + outbox + " SET payload = jsonb_set(payload::jsonb, '{node_id}', '7')::json WHERE effect = '" + effect + "'")
			s.sql("ALTER TABLE " + outbox + " ENABLE TRIGGER fsm_outbox_fixed")
			s.clock.advance(lease) // so that it is claimed once more, and read
			taken.release()
			state := machine.Failed
			if effect == "consul.register" {
				state = machine.PartialRegistered
			}
			s.reach("n1", state, quick)
			if got := s.trace("n1"); !strings.HasSuffix(got, want) {
				t.Errorf("it went %s", got)
			}
			if len(s.advertised()) != 0 {
				t.Errorf("Consul has %v", s.advertised())
			}
		})
	}
}
