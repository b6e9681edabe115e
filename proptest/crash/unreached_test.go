package crash

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen"
)

// said notes what a test is told instead of failing.
type said struct {
	testing.TB
	text []string
}

func (s *said) Helper()         {}
func (s *said) Log(args ...any) { s.text = append(s.text, "log: "+fmt.Sprint(args...)) }
func (s *said) Errorf(format string, args ...any) {
	s.text = append(s.text, "error: "+fmt.Sprintf(format, args...))
}

// TestWhatIsNotReachedIsNamed: what is not reached is named, and is no failure unless the
// specs list something else.
func TestWhatIsNotReachedIsNamed(t *testing.T) {
	t.Setenv("FSMGEN_COUNTS", "")
	specs := t.TempDir()
	tell := func(got string) string {
		s := &said{TB: t}
		compareUnreached(s, specs, "deal", "SQLite", got)
		return strings.Join(s.text, "\n")
	}
	if got, want := tell("transitions a from b"), "log: deal: not reached on SQLite: transitions a from b"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
	list := filepath.Join(specs, gen.UnreachedFile)
	if err := os.WriteFile(list, []byte("# why\ndeal: transitions a from b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := tell("transitions a from b"); strings.Contains(got, "error") {
		t.Errorf("what is listed is a failure: %s", got)
	}
	for _, other := range []string{"", "transitions a from b, c from d"} {
		want := fmt.Sprintf(`error: deal does not reach %q, and %s says "transitions a from b": if the table wants it so, write the line "deal: %s" there`, other, list, other)
		if got := tell(other); !strings.HasSuffix(got, want) {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}

// TestWindowNames: windows are named by kind, each with its points.
func TestWindowNames(t *testing.T) {
	got := windowNames([]Window{{"deal", Fire, SaveAfter}, {"deal", Create, SaveAfter}, {"deal", Fire, CommitBefore}})
	if want := []string{"create at save.after", "fire at save.after and commit.before"}; strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Errorf("windows are named %q, want %q", got, want)
	}
}
