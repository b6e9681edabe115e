package fsm

import (
	"math"
	"time"
)

// RetryPolicy is bounded exponential backoff: delays First, First*Factor, ...
// up to Max, each spread by plus or minus the share Jitter, at most Attempts
// repeats. The zero policy never repeats.
type RetryPolicy struct {
	First, Max time.Duration
	Factor     float64 // 0 means 1: a constant delay
	Jitter     float64 // 0 to 1
	Attempts   int
}

// Backoff returns the delay before repeat number attempt, which counts from 1,
// and false when the policy allows no such repeat. share spreads the delay: 0
// is the shortest, 1 the longest; the caller draws it at random.
func (p RetryPolicy) Backoff(attempt int, share float64) (time.Duration, bool) {
	if attempt < 1 || attempt > p.Attempts {
		return 0, false
	}
	factor := p.Factor
	if factor == 0 {
		factor = 1
	}
	limit := float64(math.MaxInt64 / 2)
	if p.Max > 0 {
		limit = min(limit, float64(p.Max))
	}
	delay := min(float64(p.First)*math.Pow(factor, float64(attempt-1)), limit)
	delay *= 1 + p.Jitter*(2*min(max(share, 0), 1)-1)
	return time.Duration(min(delay, limit)), true
}

// Failure is a failure class of a machine.
type Failure struct {
	Name   string
	Status int         // HTTP status of a rejection with this class; 0: none
	Retry  RetryPolicy // zero: never
}
