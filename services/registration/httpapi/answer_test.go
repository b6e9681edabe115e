package httpapi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// TestFailuresAreInOurWords: what a driver says stays in the log.
func TestFailuresAreInOurWords(t *testing.T) {
	const driver = `INSERT INTO secrets: user=fsm host=10.0.0.7`
	cause := fmt.Errorf("%s", driver)
	for _, err := range []error{
		store.Failed("load", cause), fmt.Errorf("%w: %w", engine.ErrConflict, cause), cause,
		&engine.UniqueError{Machine: registration.MachineName, ID: "1", Constraint: "one_live", Err: cause}, &engine.RefusedError{Machine: registration.MachineName, ID: "1", Err: cause},
		&engine.CorruptError{Machine: registration.MachineName, ID: "1", Err: cause},
	} {
		status, f := failureOf(err)
		if status < 400 || f.Code == "" || f.Message == "" || strings.Contains(f.Message, "secrets") || strings.Contains(f.Message, "10.0.0.7") {
			t.Errorf("%v: %d %+v", err, status, f)
		}
	}
}
