package proptest

import (
	"time"

	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/interp"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// Aim measures how far a record is from a row that has not been taken: a search
// goes on from the nearest record.
type Aim struct {
	row    *ir.Row
	steps  map[*ir.State]int // to the row's state
	rivals []*ir.Row         // of an otherwise row: those that must not hold
}

// Weights of an Aim. A step from state to state is farther than any guard.
const (
	aStep   = 10_000
	maxGap  = 100 // of one clause: counting further away is all the same
	noMatch = 1   // of a clause about what can't be counted
)

// NewAim prepares the way to a row of m.
func NewAim(m *ir.Machine, row *ir.Row) Aim {
	a := Aim{row: row, steps: map[*ir.State]int{row.From: 0}}
	for queue := []*ir.State{row.From}; len(queue) > 0; queue = queue[1:] {
		for _, r := range m.Rows {
			if _, known := a.steps[r.From]; r.Reject == nil && r.Target() == queue[0] && !known {
				a.steps[r.From] = a.steps[queue[0]] + 1
				queue = append(queue, r.From)
			}
		}
	}
	if row.Otherwise {
		for _, r := range rowsOf(m, row.From, row.Event) {
			if !r.Otherwise {
				a.rivals = append(a.rivals, r)
			}
		}
	}
	return a
}

// Distance is how far a record, nil before its creation, is from the row; ok is
// false if no way leads there.
func (a Aim) Distance(record *interp.Record, now time.Time) (far int, ok bool) {
	var state *ir.State
	if record != nil {
		state = record.State
	}
	steps, ok := a.steps[state]
	far = steps * aStep
	if record == nil {
		return far, ok
	}
	for _, c := range a.row.When {
		far += a.gap(c, true, record, now)
	}
	for _, rival := range a.rivals {
		nearest := maxGap
		for _, c := range rival.When {
			nearest = min(nearest, a.gap(c, false, record, now))
		}
		far += nearest
	}
	return far, ok
}

// gap is how far a clause is from being what it should. What the payload decides
// is no way at all: it is chosen.
func (a Aim) gap(c *ir.Clause, want bool, record *interp.Record, now time.Time) int {
	for _, o := range []*ir.Operand{&c.Left, &c.Right} {
		if domain.VarOf(o, a.row.Event).Event != nil {
			return 0
		}
	}
	stored := reader(record, nil)
	read := func(o *ir.Operand) ir.Value {
		if o.Special == ir.Now {
			return now
		}
		return stored(o)
	}
	if domain.Eval(c, read) == want {
		return 0
	}
	value := func(o *ir.Operand) ir.Value {
		if o.IsLit {
			return o.Literal
		}
		return read(o)
	}
	left, isInt := value(&c.Left).(int64)
	right, areInts := value(&c.Right).(int64)
	if !isInt || !areInts {
		return noMatch
	}
	return int(min(maxGap-1, max(left-right, right-left))) + 1
}
