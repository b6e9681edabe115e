package fsm

import (
	"slices"
	"time"
)

// TimeLayout is how a time is written where a database has no type for it:
// fixed width, so text order is time order.
const TimeLayout = "2006-01-02T15:04:05.000000Z"

// Instant returns t in UTC, cut to microseconds: the precision of PostgreSQL,
// so that Go and the database agree on equality.
func Instant(t time.Time) time.Time {
	t = t.UTC()
	if ns := t.Nanosecond() % 1000; ns != 0 {
		return t.Add(-time.Duration(ns))
	}
	return t
}

// OptionalInstant applies [Instant] to an optional time.
func OptionalInstant(t Optional[time.Time]) Optional[time.Time] {
	if t.IsSet {
		t.V = Instant(t.V)
	}
	return t
}

// InstantList applies [Instant] to a list: to a copy of it, unless there is
// nothing to cut.
func InstantList(list []time.Time) []time.Time {
	if !slices.ContainsFunc(list, func(t time.Time) bool { return t != Instant(t) }) {
		return list
	}
	out := make([]time.Time, len(list))
	for i, t := range list {
		out[i] = Instant(t)
	}
	return out
}

// InRange reports whether t lies in the years 1 to 9999, which all databases
// and encodings can hold.
func InRange(t time.Time) bool { y := t.Year(); return y >= 1 && y <= 9999 }
