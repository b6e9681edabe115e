package simulate

import (
	"math/rand/v2"
	"sync"
	"time"
)

// dice are the only source of chance. A play uses them from one goroutine at a
// time; the lock hands them from one to the next.
type dice struct {
	mu   sync.Mutex
	rand *rand.Rand
}

func newDice(seed uint64) *dice { return &dice{rand: rand.New(rand.NewPCG(seed, 0))} }

// below returns one of 0 to n-1.
func (d *dice) below(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rand.IntN(n)
}

// share returns a number in [0, 1).
func (d *dice) share() float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rand.Float64()
}

// chance is true in so many cases of a thousand.
func (d *dice) chance(ofThousand int) bool { return d.below(1000) < ofThousand }

// span returns a duration from least on that is below most.
func (d *dice) span(least, most time.Duration) time.Duration {
	return least + time.Duration(d.share()*float64(most-least))
}

// oneOf returns an element of a list that is not empty.
func oneOf[T any](d *dice, list []T) T { return list[d.below(len(list))] }

// weighted is something that may happen, and how often beside others.
type weighted[T any] struct {
	weight int
	what   T
}

// draw returns one of a list of possibilities.
func draw[T any](d *dice, list []weighted[T]) T {
	total := 0
	for _, w := range list {
		total += w.weight
	}
	n := d.below(total)
	for _, w := range list {
		if n -= w.weight; n < 0 {
			return w.what
		}
	}
	panic("unreachable: n is below the sum of the weights")
}
