package registration_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/services/registration"
)

// TestAnotherSchemaIsRefused: a daemon does not start where a trigger of its machine is out
// of force, and names it.
func TestAnotherSchemaIsRefused(t *testing.T) {
	t.Parallel()
	s := newFixture(t).open()
	s.stop()
	if _, err := s.pool.Exec(t.Context(), "ALTER TABLE registration_records DISABLE TRIGGER registration_update"); err != nil {
		t.Fatal(err)
	}
	server, err := registration.Open(t.Context(), s.options)
	if !errors.Is(err, engine.ErrDrift) || !strings.Contains(err.Error(), "trigger registration_update of registration_records is disabled") {
		t.Errorf("the error is %v", err)
	}
	if server != nil {
		t.Error("a server was opened", server.Close())
	}
}
