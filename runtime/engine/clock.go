package engine

import "time"

// Clock tells the time. The engine reads no other clock for what it decides or
// stores, so a test that owns the clock owns time.
//
// A clock that jumps back harms nothing: versions order the steps, not times.
// Deadlines and leases then come later by as much.
type Clock interface{ Now() time.Time }

// SystemClock is the clock of the machine.
type SystemClock struct{}

// Now returns the current time.
func (SystemClock) Now() time.Time { return time.Now() }
