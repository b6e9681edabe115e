package crash

import (
	"slices"
	"testing"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// TestEveryDeliveryHasPoints: the proof kills at each boundary of an effect of each
// delivery class.
func TestEveryDeliveryHasPoints(t *testing.T) {
	t.Parallel()
	for _, d := range fsm.Deliveries() {
		if k := Kind(d); !slices.Contains(allKinds, k) || len(pointsOf(k)) == 0 {
			t.Errorf("an effect that is %s has no points: the crash proof does not try it", d)
		}
	}
}
