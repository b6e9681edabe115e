package gen_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/gen/docs"
)

// TestUnreached: a list is a machine a line, and the README of a machine shows its
// own.
func TestUnreached(t *testing.T) {
	got := gen.Unreached([]byte("# why: because\nwal: transitions a from b\n\ndeal: deadlines of c: d\n"))
	if want := map[string]string{"wal": "transitions a from b", "deal": "deadlines of c: d"}; !maps.Equal(got, want) {
		t.Errorf("the list is %v, want %v", got, want)
	}
	if section := docs.Unreached(got["wal"]); !strings.HasPrefix(section, "\n## Not reached by the crash proof\n\n") || !strings.Contains(section, "transitions a from b.") {
		t.Errorf("the section is %q", section)
	}
	if section := docs.Unreached(""); section != "" {
		t.Errorf("a machine of which everything is reached says %q", section)
	}
}
