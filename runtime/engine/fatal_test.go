package engine_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// validating makes a registration whose payload waits to be validated.
func (s *stage) validating() string {
	s.t.Helper()
	s.run(`create registration 1 create {"node_id":"n"} by external`)
	s.run(`fire registration 1 REGISTER {"payload":{},"deployment_id":"d","environment":"e","network_id":"n","consul_service_id":"c","consul_service_name":"s","postgres_record":{}} by external`)
	s.wants("registration", fullID("1"), "validating", 2)
	return fullID("1")
}

// refuseOnce makes the database refuse the next commit.
func (s *stage) refuseOnce(id string) {
	refusal := times(1, func() error {
		return &engine.RefusedError{Machine: "registration", ID: id, Err: errors.New("CHECK constraint failed")}
	})
	s.reopen(&faulty{save: func(context.Context, *sql.Tx) error { return refusal() }})
}

// TestUnrecordableEventIsFatal: document 001, FATAL_ERROR Path.
func TestUnrecordableEventIsFatal(t *testing.T) {
	s := newStage(t)
	id := s.validating()
	s.refuseOnce(id)
	_, err := s.engine.Fire(t.Context(), "registration", id, registration.ValidationPassed{ValidationResult: registration.ValidationOutcomePassed}, engine.Call{By: fsm.System()})
	if !errors.Is(err, engine.ErrRefused) {
		t.Errorf("the caller is told %v", err)
	}
	s.wants("registration", id, "failed", 3)
}

// TestUnrecordableAnswerIsFatal: the same for what a handler answers. The record
// has left the state, so the effect is not repeated.
func TestUnrecordableAnswerIsFatal(t *testing.T) {
	s := newStage(t)
	id := s.validating()
	s.refuseOnce(id)
	s.run(`script validate_payload answer VALIDATION_PASSED {"validation_result":"passed"}`)
	s.run("step")
	s.wants("registration", id, "failed", 3)
	s.run("tick 1h")
	s.flush()
	s.run("step")
	if seen := s.flush(); seen != "idle\n" {
		t.Errorf("there is more to do:\n%s", seen)
	}
}
