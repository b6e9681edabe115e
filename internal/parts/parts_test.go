package parts_test

import (
	"cmp"
	"testing"

	"github.com/fsmgen/fsmgen/internal/parts"
)

// ending notes how a test ends first: nothing comes after it.
type ending struct {
	testing.TB
	how string
}

func (e *ending) Skip(...any)           { e.how = cmp.Or(e.how, "skipped") }
func (e *ending) Fatalf(string, ...any) { e.how = cmp.Or(e.how, "failed") }

func TestWithoutItsPart(t *testing.T) {
	for require, want := range map[string]string{"": "skipped", "1": "failed"} {
		t.Setenv("FSMGEN_REQUIRE_PARTS", require)
		t.Setenv("FSMGEN_NOTHING", "")
		got := &ending{TB: t}
		parts.Address(got, "FSMGEN_NOTHING")
		if got.how != want {
			t.Errorf("required %q: it %s, want %s", require, got.how, want)
		}
	}
}

func TestWithItsPart(t *testing.T) {
	t.Setenv("FSMGEN_SOMETHING", "there")
	if got := parts.Address(t, "FSMGEN_SOMETHING"); got != "there" {
		t.Errorf("it is %q", got)
	}
}
