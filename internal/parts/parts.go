// Package parts tells tests where the real parts are that tools/parts runs beside
// them. A test whose part is missing skips, and fails where the parts are
// required. Nothing but tests imports it.
package parts

import (
	"os"
	"testing"
)

// requireVariable is set where no part may be missing: tools/parts sets it once
// every part runs.
const requireVariable = "FSMGEN_REQUIRE_PARTS"

// Address is what tools/parts says of a part in a variable. Without it the part
// is missing.
func Address(t testing.TB, variable string) string {
	t.Helper()
	address := os.Getenv(variable)
	if address == "" {
		Missing(t, variable+" is not set: run under tools/parts")
	}
	return address
}

// Missing ends a test that lacks what is said: it skips, or fails where nothing
// may be missing.
func Missing(t testing.TB, what string) {
	t.Helper()
	if Required() {
		t.Fatalf("%s (%s demands it)", what, requireVariable)
	}
	t.Skip(what)
}

// Required reports whether nothing may be missing.
func Required() bool { return os.Getenv(requireVariable) != "" }
