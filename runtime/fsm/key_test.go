package fsm_test

import (
	"testing"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

func TestKeyPartsAreKeptApart(t *testing.T) {
	seen := map[string][2]string{}
	for _, parts := range [][2]string{{"a", "b:c"}, {"a:b", "c"}, {"", "a:b:c"}, {"a:1:b", "c"}, {"a", "1:b:1:c"}, {"1", ":"}, {"1:", ""}} {
		key := fsm.KeyPart(parts[0]) + ":" + fsm.KeyPart(parts[1])
		if other, there := seen[key]; there {
			t.Errorf("%q and %q make the same key %q", parts, other, key)
		}
		seen[key] = parts
	}
}
