package engine

import "time"

// The delay between a wake-up of the store and its claim. It is firstDelay after a claim that found
// nothing, and doubles with each further one, up to a quarter of PollInterval and longestDelay.
const (
	firstDelay   = 2 * time.Millisecond
	longestDelay = time.Second
)

// wakeups decides when a worker follows the wake-ups of the store. Each wakes every worker of
// every process, and one of them gets the work. A worker whose claims find nothing waits longer
// each time, and leaves the work to others.
type wakeups struct {
	most     time.Duration // that it waits
	delay    time.Duration // 0: the last claim found something
	claims   int           // begun
	accepted bool          // a wake-up has led to the claim that begins next
	woken    bool          // a wake-up has led to the last claim that has begun
}

func newWakeups(pollInterval time.Duration) wakeups {
	return wakeups{most: min(pollInterval/4, longestDelay)}
}

// pause returns how long to wait after a wake-up: half of the delay, and share, in [0, 1), of the
// other half.
func (u *wakeups) pause(share float64) time.Duration {
	return time.Duration(float64(u.delay) * (1 + share) / 2)
}

// accept reports whether a wake-up that arrived after so many claims should lead to a claim: no
// claim has begun since.
func (u *wakeups) accept(claims int) bool {
	if u.claims > claims {
		return false
	}
	u.accepted = true
	return true
}

// begin notes that a claim begins.
func (u *wakeups) begin() {
	u.claims++
	u.woken, u.accepted = u.accepted, false
}

// end notes whether the claim found something. A claim without a wake-up says nothing about
// wake-ups.
func (u *wakeups) end(found bool) {
	switch {
	case found:
		u.delay = 0
	case u.woken:
		u.delay = min(max(2*u.delay, firstDelay), u.most)
	}
}
