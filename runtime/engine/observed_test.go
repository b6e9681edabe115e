package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// spied reopens the stage with an engine that writes the metrics of the spec down.
func (s *stage) spied() *[]string {
	var seen []string
	s.config.Metrics = func(m engine.Metric) {
		if strings.HasPrefix(m.Name, "fsm_") {
			return
		}
		var labels []string
		for _, l := range m.Labels {
			labels = append(labels, l.Name+"="+l.Value)
		}
		seen = append(seen, fmt.Sprintf("%s %s %v %v", m.Name, m.Type, m.Value, labels))
	}
	s.reopen(&faulty{})
	return &seen
}

// Document 001, Metric Details: what the orchestrator observes, under the
// document's names, with its labels and units.
func TestObservedMetrics(t *testing.T) {
	s := newStage(t)
	seen := s.spied()
	id := s.validating()
	s.run("script validate_payload panic")
	s.run("tick 1500ms")
	s.run(`fire registration 1 VALIDATION_FAILED {"validation_result":"failed","validation_error":"x","validation_error_type":"invalid"} by system`)
	s.wants("registration", id, "failed", 3)
	s.run("fire registration 1 RETRY by external")
	s.run("tick 5s")
	s.run("step")
	for _, want := range []string{
		"registration_state_duration_ms histogram 1500 [state=validating outcome=failure node_id=n]",
		"registration_state_duration_ms histogram 5000 [state=validating outcome=timeout node_id=n]",
		"registration_state_timeout_total counter 1 [state=validating trigger_emitted=FATAL_ERROR node_id=n deployment_id=d]",
		"registration_timeout_total counter 1 [node_id=n deployment_id=d environment=e state=validating timeout_ms=5000]",
	} {
		if !slices.Contains(*seen, want) {
			t.Errorf("missing %s", want)
		}
	}
	if t.Failed() {
		t.Log("seen:\n" + strings.Join(*seen, "\n"))
	}
}

// registration_internal_error of the same document: what stood against the
// record, though the event is gone.
func TestObservedFatal(t *testing.T) {
	s := newStage(t)
	id := s.validating()
	seen := s.spied()
	s.refuseOnce(id)
	_, err := s.engine.Fire(t.Context(), "registration", id, registration.ValidationPassed{ValidationResult: registration.ValidationOutcomePassed}, engine.Call{By: fsm.System()})
	if !errors.Is(err, engine.ErrRefused) {
		t.Fatal(err)
	}
	want := "registration_internal_error counter 1 [node_id=n deployment_id=d environment=e phase=record error_type=refused]"
	if !slices.Contains(*seen, want) {
		t.Errorf("missing %s; seen:\n%s", want, strings.Join(*seen, "\n"))
	}
}

// A step of a chain leaves its state in the moment in which it entered it.
func TestObservedChain(t *testing.T) {
	s := newStage(t)
	seen := s.spied()
	s.validating()
	s.run(`script validate_payload answer VALIDATION_PASSED {"validation_result":"passed"}`)
	s.run("step")
	passing := "registration_state_duration_ms histogram 0 [state="
	n := 0
	for _, line := range *seen {
		if strings.HasPrefix(line, passing) {
			n++
		}
	}
	if n == 0 {
		t.Errorf("seen:\n%s", strings.Join(*seen, "\n"))
	}
}
