package scenarios

import (
	"container/heap"
	"fmt"
	"math"
	"strings"

	"github.com/fsmgen/fsmgen/gen/interp"
	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/proptest"
)

// Bounds of the way to one transition.
const (
	maxAimed = 250 // moments that are gone on with
	maxIdle  = 60  // of them in a row that are no nearer than those before
)

// aim looks for each transition that is still missing: it goes on from the
// moments that are known, and always from the one whose record is nearest to the
// transition's guard.
func (s *search) aim() {
	s.exact = true
	for _, r := range s.Proven().Rows {
		if s.missing[r] {
			s.aimAt(r)
		}
	}
	s.exact = false
}

func (s *search) aimAt(r *ir.Row) {
	open := &frontier{way: proptest.NewAim(s.Proven(), r)}
	seen := map[string]bool{}
	for _, m := range s.kept {
		seen[s.identity(m.world)] = true
		open.add(m)
	}
	nearest, idle := math.MaxInt, 0
	for n := 0; n < maxAimed && idle < maxIdle && s.missing[r] && open.Len() > 0; n++ {
		at := heap.Pop(open).(candidate)
		if idle++; at.far < nearest {
			nearest, idle = at.far, 0
		}
		for _, next := range s.successors(at.moment) {
			s.news(next)
			if id := s.identity(next.world); !seen[id] {
				seen[id] = true
				open.add(next)
			}
		}
	}
}

// identity tells worlds apart by everything in them.
func (s *search) identity(w *world) string {
	var b strings.Builder
	for i, f := range w.instances {
		if f.record != nil {
			b.Write(interp.MarshalRecord(s.machines[i], f.record))
		}
		if f.timer != nil {
			b.WriteString(f.timer.at.String())
		}
	}
	fmt.Fprint(&b, w.now, w.jobs)
	return b.String() + w.rows.signature()
}

// candidate is a moment that a way may begin at.
type candidate struct {
	*moment
	far, number int
}

// frontier is the candidates, the nearest first; of several the one with the
// fewest steps.
type frontier struct {
	way  proptest.Aim
	list []candidate
	all  int
}

func (f *frontier) add(m *moment) {
	far, ok := f.way.Distance(m.instances[0].record, m.now)
	if ok {
		f.all++
		heap.Push(f, candidate{m, far, f.all})
	}
}

// Len is how many there are.
func (f *frontier) Len() int { return len(f.list) }

// Less reports whether candidate i comes before candidate j.
func (f *frontier) Less(i, j int) bool {
	a, b := f.list[i], f.list[j]
	switch {
	case a.far != b.far:
		return a.far < b.far
	case a.steps != b.steps:
		return a.steps < b.steps
	}
	return a.number < b.number
}

// Swap exchanges two candidates.
func (f *frontier) Swap(i, j int) { f.list[i], f.list[j] = f.list[j], f.list[i] }

// Push adds a candidate.
func (f *frontier) Push(x any) { f.list = append(f.list, x.(candidate)) }

// Pop takes the last candidate.
func (f *frontier) Pop() any {
	last := f.list[len(f.list)-1]
	f.list = f.list[:len(f.list)-1]
	return last
}
