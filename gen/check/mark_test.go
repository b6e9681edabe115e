package check

import (
	"math"
	"testing"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// TestFewValues: ints have bits of their own within narrow bounds only, also
// where their difference overflows or the largest int is one of them.
func TestFewValues(t *testing.T) {
	for _, c := range []struct {
		min, max int64
		want     int
	}{
		{0, 0, 1}, {-3, 3, 7}, {1, maxFew, maxFew}, {0, maxFew, 0}, {3, 1, 0},
		{math.MaxInt64 - 1, math.MaxInt64, 2}, {math.MinInt64, math.MinInt64 + 2, 3},
		{-1, math.MaxInt64, 0}, {math.MinInt64, math.MaxInt64, 0},
	} {
		got := fewValues(&ir.Field{Type: ir.Type{Base: ir.Int}, Min: &c.min, Max: &c.max})
		if len(got) != c.want || c.want > 0 && (got[0] != c.min || got[c.want-1] != c.max) {
			t.Errorf("from %d to %d: got %v, want %d values", c.min, c.max, got, c.want)
		}
	}
}
