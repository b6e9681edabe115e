package domain

import (
	"iter"
	"math/rand/v2"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// All yields every assignment, the last variable changing fastest, if there
// are at most limit. Else it yields limit assignments drawn with the seed:
// first one for each pair of values of two variables that no earlier one
// covers (all pairs, as far as the limit allows), then random ones, which
// may repeat.
func (s *Space) All(limit int, seed uint64) iter.Seq[Assignment] {
	if s.fits(limit) {
		return s.every
	}
	return func(yield func(Assignment) bool) { s.sample(limit, seed, yield) }
}

// First gives every variable the first of its class: a present value, unless
// only absence is possible.
func (s *Space) First() Assignment { return s.assignment(make([]int, len(s.Vars))) }

func (s *Space) every(yield func(Assignment) bool) {
	at := make([]int, len(s.Vars))
	for {
		if !yield(s.assignment(at)) {
			return
		}
		i := len(at) - 1
		for ; i >= 0; i-- {
			if at[i]++; at[i] < len(s.Classes[i]) {
				break
			}
			at[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

func (s *Space) sample(limit int, seed uint64, yield func(Assignment) bool) {
	if limit <= 0 {
		return
	}
	rng := rand.New(rand.NewPCG(seed, uint64(len(s.Vars))))
	covered := map[pair]bool{}
	left := limit
	few := s.fewPairs()
	take := func(at []int) bool {
		left--
		if few {
			cover(covered, at)
		}
		return yield(s.assignment(at))
	}
	var pairs []pair
	if few {
		pairs = s.pairs()
	}
	rng.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
	for _, p := range pairs {
		if left <= 0 {
			return
		}
		if covered[p] {
			continue
		}
		at := s.random(rng)
		at[p.var1], at[p.var2] = p.class1, p.class2
		if !take(at) {
			return
		}
	}
	for left > 0 && take(s.random(rng)) {
	}
}

// maxPairs bounds the pairs that are covered on purpose; of more, the limit
// would reach only some.
const maxPairs = 1 << 16

func (s *Space) fewPairs() bool {
	pairs, before := 0, 0
	for _, class := range s.Classes {
		pairs += before * len(class)
		before += len(class)
		if pairs > maxPairs {
			return false
		}
	}
	return true
}

// pair is a choice of values for two variables, var1 before var2.
type pair struct{ var1, class1, var2, class2 int }

func (s *Space) pairs() []pair {
	var out []pair
	for i := range s.Classes {
		for j := i + 1; j < len(s.Classes); j++ {
			for a := range s.Classes[i] {
				for b := range s.Classes[j] {
					out = append(out, pair{i, a, j, b})
				}
			}
		}
	}
	return out
}

func cover(covered map[pair]bool, at []int) {
	for i := range at {
		for j := i + 1; j < len(at); j++ {
			covered[pair{i, at[i], j, at[j]}] = true
		}
	}
}

func (s *Space) random(rng *rand.Rand) []int {
	at := make([]int, len(s.Classes))
	for i, class := range s.Classes {
		at[i] = rng.IntN(len(class))
	}
	return at
}

func (s *Space) assignment(at []int) Assignment {
	values := make([]ir.Value, len(at))
	for i, class := range at {
		values[i] = s.Classes[i][class]
	}
	return Assignment{s, values}
}
