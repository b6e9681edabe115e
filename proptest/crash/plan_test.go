package crash

import "testing"

// TestByWorkers: a record that a caller's event starts is no window of a worker; one that an answer
// starts is.
func TestByWorkers(t *testing.T) {
	t.Parallel()
	at := func(kind Kind, n int) entry { return entry{Entry: passed, Kind: kind, Point: SaveBefore, N: n} }
	left := byWorkers([]entry{at(Fire, 1), at(Started, 1), at(Answer, 2), at(Started, 2), {Entry: ended}})
	var kinds []Kind
	for _, e := range left {
		if e.Entry == passed {
			kinds = append(kinds, e.Kind)
		}
	}
	if len(left) != 4 || len(kinds) != 3 || kinds[0] != Fire || kinds[1] != Answer || kinds[2] != Started {
		t.Errorf("left are %v of %d entries", kinds, len(left))
	}
}
