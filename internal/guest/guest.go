// Package guest runs tests in a guest that has a kernel of its own, by way of
// the runner of tools/guest. Nothing but tests imports it.
package guest

import (
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// The variables that say how to run a guest, that this is one, and that a test
// must not skip for want of one.
const (
	runnerVariable  = "FSMGEN_GUEST"
	insideVariable  = "INSIDE_GUEST"
	requireVariable = "FSMGEN_REQUIRE_PARTS"
)

// boot is what a guest takes beyond its test, where go test has a time limit: building
// the test without cgo and booting.
const boot = time.Minute

// Enter reports whether this is a guest. Elsewhere it runs the test of the same
// name in one, and fails with it, so the caller has nothing left to do. Without
// a guest to be had the test skips, or fails where the parts are required. What
// this test needs beyond that of others is said by flags of the runner.
//
//	func TestKernel(t *testing.T) {
//		if !guest.Enter(t) {
//			return
//		}
//		...
//	}
func Enter(t *testing.T, flags ...string) bool {
	t.Helper()
	if Inside() {
		return true
	}
	runner := os.Getenv(runnerVariable)
	switch {
	case runner == "" && os.Getenv(requireVariable) != "":
		t.Fatalf("%s is not set", runnerVariable)
	case runner == "":
		t.Skipf("%s is not set: run under tools/parts", runnerVariable)
	}
	runner = strings.Join(append([]string{runner}, flags...), " ")
	// -v, or go test would keep what was counted to itself.
	args := []string{"test", "-v", "-count=1", "-exec", runner, "-run", "^" + t.Name() + "$" + subtests()}
	limit := time.Duration(0) // none: the guest ends a test that hangs
	if deadline, ok := t.Deadline(); ok {
		limit = max(time.Until(deadline)-boot, boot)
	}
	args = append(args, "-timeout", limit.String())
	cmd := exec.CommandContext(t.Context(), "go", append(args, ".")...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // there is no loader in the guest
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("in the guest: %v\n%s", err, out)
	}
	t.Logf("in the guest:\n%s", out)
	collect(t, string(out))
	return false
}

// Inside reports whether this is a guest.
func Inside() bool { return os.Getenv(insideVariable) != "" }

// subtests is what follows the first slash of -run, with it.
func subtests() string {
	pattern := flag.Lookup("test.run").Value.String()
	if slash := strings.Index(pattern, "/"); slash >= 0 {
		return pattern[slash:]
	}
	return ""
}
