package fsm

import "time"

// AddInt returns a + b and whether it did not overflow. Durations are integers
// too.
func AddInt[T ~int64](a, b T) (T, bool) {
	sum := a + b
	return sum, (sum > a) == (b > 0)
}

// SubInt returns a - b and whether it did not overflow.
func SubInt[T ~int64](a, b T) (T, bool) {
	diff := a - b
	return diff, (diff < a) == (b > 0)
}

// AddTime returns t + d and whether it lies in the years 1 to 9999.
func AddTime(t time.Time, d time.Duration) (time.Time, bool) {
	sum := Instant(t.Add(d))
	return sum, InRange(sum)
}

// SubTime returns t - d and whether it lies in the years 1 to 9999. Unlike
// AddTime(t, -d) it is right for the smallest duration.
func SubTime(t time.Time, d time.Duration) (time.Time, bool) {
	half := d / 2
	diff := Instant(t.Add(-half).Add(-(d - half)))
	return diff, InRange(diff)
}

// Between returns a - b and whether it fits a duration.
func Between(a, b time.Time) (time.Duration, bool) {
	d := a.Sub(b)
	return d, b.Add(d).Equal(a)
}
