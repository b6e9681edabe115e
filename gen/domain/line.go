package domain

import (
	"math"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// line holds the values of a pool of numbers, or of times and durations, as
// points: an int is itself, a duration its nanoseconds. Where a time is in the
// pool both are microseconds, a time as its distance from now; so a time that
// is now and a duration is the same point as that duration.
type line struct {
	now      time.Time
	timed    bool
	ordered  bool // some clause or bound asks which is larger
	combined bool // a sum of two variables

	known   []int64 // the constants
	all     []int64 // the points, sorted
	further []int64 // in a pool that knows only equality: points beyond the known
}

// Bounds of what one pool may become.
const (
	maxShifts = 4
	maxRoots  = 256
)

// draw computes the points for n variables and reports whether they are
// enough.
//
// Equality only: n variables have at most n values that are no constant, and
// any n others answer alike. Numbered in the order of their first variable,
// the i-th variable has one of the first i, which is all that [line.points]
// gives it.
//
// Order: what lies between two neighbouring constants can be moved, in its
// order, to any other points there; n variables have at most n.
//
// Order at distances, where a variable is moved by a constant d: clauses are
// constraints x - y <= w between the variables and zero, w being made of a
// constant or of distances, minus one where the clause is strict. If they can
// be satisfied, shortest paths from zero satisfy them; variables that nothing
// bounds from above follow, by the longest paths, from those that bound them
// from below, and what nothing bounds can begin at any constant. A path is
// simple, so it passes each distance at most once and n variables at most,
// with a step of one each: all its sums are within n of a constant that is
// moved by some of the distances.
//
// A sum of two variables has no such argument, nor has a constant time beside
// now, which may be before or after it.
func (l *line) draw(literals, shifts []ir.Value, n int) bool {
	exact := !l.combined
	fixed := false
	for _, v := range literals {
		p, ok := l.point(v)
		exact = exact && ok
		l.known = append(l.known, p)
		_, isTime := v.(time.Time)
		fixed = fixed || isTime && p != 0
	}
	exact = exact && (!fixed || !slices.Contains(l.known, 0))
	l.known = sortedPoints(l.known)
	if len(l.known) == 0 {
		l.known = []int64{0}
	}
	roots, ok := l.roots(shifts)
	step := l.step(roots, n)
	switch {
	case len(roots) > len(l.known) || l.combined:
		for _, r := range roots {
			for s := -int64(n); s <= int64(n); s++ {
				l.add(r, s*step)
			}
		}
	case l.ordered || n == 1:
		l.between(roots, n, step)
	default:
		l.all = slices.Clone(roots)
		for i := range n {
			l.further = append(l.further, roots[len(roots)-1]+int64(i+1)*step)
		}
	}
	l.all = sortedPoints(l.all)
	return exact && ok
}

// roots are the constants, moved by every selection of the distances.
func (l *line) roots(shifts []ir.Value) (roots []int64, ok bool) {
	ok = true
	roots = slices.Clone(l.known)
	for i, v := range shifts {
		by, exact := l.point(v)
		ok = ok && exact
		if i >= maxShifts || len(roots) > maxRoots {
			return roots, false
		}
		roots = moved(roots, by)
	}
	if l.combined {
		for _, k := range l.known[:min(len(l.known), maxShifts)] {
			roots = moved(roots, k)
		}
	}
	return roots, ok
}

// moved adds to the points those at a distance from them.
func moved(points []int64, by int64) []int64 {
	out := slices.Clone(points)
	for _, p := range points {
		for _, d := range []int64{by, -by} {
			if sum, err := addInt(p, d); err == nil {
				out = append(out, sum.(int64))
			}
		}
	}
	return sortedPoints(out)
}

// between gives every gap between constants, and both ends, n points: next to
// the constants first, which tests of generated code want to meet.
func (l *line) between(roots []int64, n int, step int64) {
	l.all = slices.Clone(roots)
	for i := range n {
		l.add(roots[0], -int64(i+1)*step)
		l.add(roots[len(roots)-1], int64(i+1)*step)
	}
	for i, hi := range roots[1:] {
		lo := roots[i]
		room := uint64(hi) - uint64(lo) - 1
		for s := int64(1); s <= int64(max(n, 2)+1)/2; s++ {
			if uint64(s*step) <= room {
				l.all = append(l.all, lo+s*step, hi-s*step)
			}
		}
	}
}

func (l *line) add(p, by int64) {
	if sum, err := addInt(p, by); err == nil {
		l.all = append(l.all, sum.(int64))
	}
}

// step is the distance between points that are next to each other. Times have
// the longest of some that does not bridge a gap between roots.
func (l *line) step(roots []int64, n int) int64 {
	if !l.timed {
		return 1
	}
	gap := uint64(math.MaxUint64)
	for i, hi := range roots[1:] {
		gap = min(gap, uint64(hi)-uint64(roots[i]))
	}
	for _, d := range []time.Duration{time.Hour, time.Minute, time.Second, time.Millisecond} {
		if step := d.Microseconds(); uint64(step)*uint64(2*n+2) <= gap {
			return step
		}
	}
	return 1
}

// points are those of the i-th variable of the pool.
func (l *line) points(i int) []int64 {
	return append(slices.Clone(l.all), l.further[:min(i+1, len(l.further))]...)
}

// values are the points of the i-th variable that are values of base.
func (l *line) values(base ir.Base, i int) []ir.Value {
	var out []ir.Value
	for _, p := range l.points(i) {
		if v, ok := l.value(base, p); ok {
			out = append(out, v)
		}
	}
	return out
}

// point is the place of a value, and whether it is exactly there.
func (l *line) point(v ir.Value) (p int64, ok bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case time.Duration:
		if !l.timed {
			return int64(v), true
		}
		return v.Microseconds(), v%time.Microsecond == 0
	case time.Time:
		return v.UnixMicro() - l.now.UnixMicro(), true
	}
	return 0, false
}

func (l *line) value(base ir.Base, p int64) (v ir.Value, ok bool) {
	switch base {
	case ir.Int:
		return p, true
	case ir.Time:
		t := time.UnixMicro(l.now.UnixMicro() + p).UTC()
		return t, ValidTime(t)
	case ir.Duration:
		if !l.timed {
			return time.Duration(p), true
		}
		d := time.Duration(p) * time.Microsecond
		return d, d.Microseconds() == p
	case ir.String, ir.Bool, ir.UUID, ir.JSON, ir.ListOf, ir.EnumOf: // are not on a line
	}
	panic(ir.NoForm("domain.line.value", base))
}

func sortedPoints(points []int64) []int64 {
	slices.Sort(points)
	return slices.Compact(points)
}
