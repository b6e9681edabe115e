package postgres

import (
	"slices"
	"testing"
)

// TestStepsAreBounded asks for more kinds of steps than a table gets statements
// for: the others write every column.
func TestStepsAreBounded(t *testing.T) {
	t.Parallel()
	var x texts
	tables := deals().Tables()
	every := everyColumn(tables)
	known := map[string]bool{}
	for set := range 1 << 8 {
		w := stepShape{form: stay, messages: set % 2}
		for i := range 8 {
			if set&(1<<i) != 0 {
				w.columns = append(w.columns, i+1)
			}
		}
		sql, written := x.step(tables, w)
		if again, _ := x.step(tables, w); sql != again {
			t.Fatalf("columns %v: %s\nand then %s", w.columns, sql, again)
		}
		if !slices.Equal(written, w.columns) && !slices.Equal(written, every) {
			t.Fatalf("columns %v become %v", w.columns, written)
		}
		known[sql] = true
	}
	if want := mostShapes + 2; len(known) != want { // and those for every column
		t.Errorf("there are %d statements, want %d", len(known), want)
	}
}
