// Package racing is for tests under the race detector that run this program as
// other processes. Nothing but tests imports it.
package racing

import (
	"os"
	"strings"
)

// Variable has the options of the race detector.
const Variable = "GORACE"

// HurryChildren lets the processes that this one starts end at once. Otherwise
// each sleeps for a second first, in case something that it left running races:
// that is for programs that leave something running.
func HurryChildren() error {
	return os.Setenv(Variable, strings.TrimSpace(os.Getenv(Variable)+" atexit_sleep_ms=0"))
}
