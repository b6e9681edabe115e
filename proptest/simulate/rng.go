package simulate

import (
	"math/rand/v2"
	"sync"
	"time"
)

// rng is the only source of randomness. A run uses it from one goroutine at a time. The
// lock hands it from one to the next.
type rng struct {
	mu   sync.Mutex
	rand *rand.Rand
}

func newRNG(seed uint64) *rng { return &rng{rand: rand.New(rand.NewPCG(seed, 0))} }

// below returns a number from 0 to n-1.
func (r *rng) below(n int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rand.IntN(n)
}

// share returns a number in [0, 1).
func (r *rng) share() float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rand.Float64()
}

// chance is true in ofThousand of a thousand cases.
func (r *rng) chance(ofThousand int) bool { return r.below(1000) < ofThousand }

// span returns a duration that is at least least and less than most.
func (r *rng) span(least, most time.Duration) time.Duration {
	return least + time.Duration(r.share()*float64(most-least))
}

// oneOf returns a random element of a list that is not empty.
func oneOf[T any](r *rng, list []T) T { return list[r.below(len(list))] }

// weighted is a possibility and its weight.
type weighted[T any] struct {
	weight int
	what   T
}

// draw returns a random possibility of a list.
func draw[T any](r *rng, list []weighted[T]) T {
	total := 0
	for _, w := range list {
		total += w.weight
	}
	n := r.below(total)
	for _, w := range list {
		if n -= w.weight; n < 0 {
			return w.what
		}
	}
	panic("unreachable: n is below the sum of the weights")
}
