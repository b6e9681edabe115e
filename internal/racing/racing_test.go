package racing_test

import (
	"os"
	"testing"

	"github.com/fsmgen/fsmgen/internal/racing"
)

func TestHurryChildrenKeepsOtherOptions(t *testing.T) {
	for before, want := range map[string]string{"": "atexit_sleep_ms=0", "halt_on_error=1": "halt_on_error=1 atexit_sleep_ms=0"} {
		t.Setenv(racing.Variable, before)
		if err := racing.HurryChildren(); err != nil || os.Getenv(racing.Variable) != want {
			t.Errorf("%q becomes %q: %v", before, os.Getenv(racing.Variable), err)
		}
	}
}
