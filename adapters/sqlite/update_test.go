package sqlite

import (
	"slices"
	"testing"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
)

// TestUpdatesAreBounded asks for more sets of columns than a table gets
// statements for: the others write every column.
func TestUpdatesAreBounded(t *testing.T) {
	t.Parallel()
	u := newUpdates(deal.Define[any](nil, deal.DefaultParams()).Tables())
	full := 0
	for set := range 1 << 8 {
		var changed []int
		for i := range 8 {
			if set&(1<<i) != 0 {
				changed = append(changed, i+1)
			}
		}
		query, written := u.of(changed)
		again, _ := u.of(changed)
		switch {
		case query != again || query != u.text(written):
			t.Fatalf("columns %v: %s\nand then %s", changed, query, again)
		case len(written) == len(u.columns)-1:
			full++
		case !slices.Equal(written, changed):
			t.Fatalf("columns %v become %v", changed, written)
		}
	}
	if want := 1<<8 - mostUpdates; full != want {
		t.Errorf("%d sets write every column, want %d", full, want)
	}
}
