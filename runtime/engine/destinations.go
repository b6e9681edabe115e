package engine

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// Limit bounds the attempts of this process at one destination.
type Limit struct {
	// AtOnce is how many attempts run at the same time. Default: half of Config.Concurrency, so
	// that a destination that hangs leaves the rest to others; or all of it if the machines of the
	// engine know no other destination.
	AtOnce int
	// PerSecond is how many attempts begin in a second, on average. As many, and at least one, may
	// begin in a burst. 0: no limit.
	PerSecond float64
}

// tripsAfter is how many attempts at a destination fail in a row until its breaker is
// open. Then one attempt runs at a time, until one succeeds.
const tripsAfter = 10

// destinations counts the attempts at each destination, for all workers of an engine.
type destinations struct {
	clock Clock

	mu   sync.Mutex
	all  map[string]*destinationUse
	turn int // of the machines that share a destination, which is first
}

// destinationUse is the state of one destination: its limit, and its attempts.
type destinationUse struct {
	limit    Limit
	set      bool // the limit is not the default
	busy     int
	tokens   float64 // attempts that may begin, of a limit per second
	refilled time.Time
	failures int  // in a row
	short    bool // a claim left messages behind for want of room
}

// newDestinations returns the destinations of a list with their limits.
func newDestinations(list []store.Destination, c Config) *destinations {
	d := &destinations{clock: c.Clock, all: map[string]*destinationUse{}}
	for _, l := range list {
		limit, set := c.Limits[l.Name]
		d.all[l.Name] = &destinationUse{limit: limit, set: set}
	}
	share := c.Concurrency
	if len(d.all) > 1 {
		share = max(1, c.Concurrency/2)
	}
	for _, of := range d.all {
		if of.limit.AtOnce == 0 {
			of.limit.AtOnce = share
		}
		of.tokens, of.refilled = of.burst(), c.Clock.Now()
	}
	return d
}

// checkLimits returns an error for a limit of an unknown destination.
func (d *destinations) checkLimits(limits map[string]Limit) error {
	for name := range limits {
		if d.all[name] == nil {
			return fmt.Errorf("engine: Limits has the destination %q, which no effect of a machine has as its `to`", name)
		}
	}
	return nil
}

// burst is how many attempts may start at the same time after a pause.
func (d *destinationUse) burst() float64 { return max(1, d.limit.PerSecond) }

// open reports whether the breaker is open.
func (d *destinationUse) open() bool { return d.failures >= tripsAfter }

// room is how many attempts may start now. The caller holds the lock; so do the callers of all
// methods here that do not take it.
func (d *destinationUse) room(now time.Time) int {
	atOnce := d.limit.AtOnce
	if d.open() {
		atOnce = 1
	}
	return max(0, min(atOnce-d.busy, d.allowance(now)))
}

// allowance is how many attempts the limit per second allows now.
func (d *destinationUse) allowance(now time.Time) int {
	if d.limit.PerSecond == 0 {
		return math.MaxInt
	}
	if passed := now.Sub(d.refilled).Seconds(); passed > 0 {
		d.tokens = min(d.burst(), d.tokens+passed*d.limit.PerSecond)
	}
	d.refilled = now
	return max(0, int(math.Floor(d.tokens)))
}

// take takes a slot at a destination, if one is free.
func (d *destinations) take(name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	of := d.all[name]
	if of.room(d.clock.Now()) == 0 {
		of.short = true
		return false
	}
	of.busy++
	of.tokens--
	return true
}

// giveBack returns a slot that was not used.
func (d *destinations) giveBack(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all[name].busy--
	d.all[name].tokens++
}

// isSet reports whether a destination has a limit of its own.
func (d *destinations) isSet(name string) bool { return d.all[name].set }

// leave ends an attempt. It reports whether to claim what was left behind: half of the slots are
// free again.
func (d *destinations) leave(name string) (look bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	of := d.all[name]
	of.busy--
	if !of.short || of.busy > of.limit.AtOnce/2 {
		return false
	}
	of.short = false
	return true
}

// report notes how an attempt ended, and reports whether the breaker changed.
func (d *destinations) report(name string, failed bool) (open, changed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	of := d.all[name]
	before := of.open()
	of.failures++
	if !failed {
		of.failures = 0
	}
	return of.open(), of.open() != before
}

// reserve takes slots for a claim of at most so many messages, and returns the destinations that
// have some. Destinations of several machines with one name share their slots.
func (d *destinations) reserve(list []store.Destination, most int) []store.Destination {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, sharing := d.clock.Now(), map[string]int{}
	for _, l := range list {
		sharing[l.Name]++
	}
	d.turn++
	reserved := make([]store.Destination, 0, len(list))
	for i := range list {
		l := list[(i+d.turn)%len(list)]
		of := d.all[l.Name]
		room := of.room(now)
		l.Most = min(room, most, max(1, of.limit.AtOnce/sharing[l.Name]))
		if l.Most == 0 {
			of.short = true
			continue
		}
		of.busy += l.Most
		of.tokens -= float64(l.Most)
		reserved = append(reserved, l)
	}
	return reserved
}

// claimed gives back the slots that a claim did not use. A destination of which it used all may
// have more messages.
func (d *destinations) claimed(reserved []store.Destination, tasks []store.Task) {
	d.mu.Lock()
	defer d.mu.Unlock()
	got := messagesOf(tasks)
	for _, l := range reserved {
		of := d.all[l.Name]
		of.busy -= l.Most
		of.tokens += float64(l.Most)
		of.short = of.short || got[[2]string{l.Machine, l.Name}] >= l.Most
	}
	for at, n := range got {
		d.all[at[1]].busy += n
		d.all[at[1]].tokens -= float64(n)
	}
}

// allowed returns the destinations with as many messages as their limits per second allow, at most
// so many, for a caller that carries them out one after the other.
func (d *destinations) allowed(list []store.Destination, most int) []store.Destination {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, allowed := d.clock.Now(), make([]store.Destination, 0, len(list))
	for _, l := range list {
		if l.Most = min(most, d.all[l.Name].allowance(now)); l.Most > 0 {
			allowed = append(allowed, l)
		}
	}
	return allowed
}

// spent counts attempts that are carried out one after the other.
func (d *destinations) spent(tasks []store.Task) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for at, n := range messagesOf(tasks) {
		d.all[at[1]].tokens -= float64(n)
	}
}

// messagesOf counts the messages of each machine and destination.
func messagesOf(tasks []store.Task) map[[2]string]int {
	n := map[[2]string]int{}
	for _, t := range tasks {
		if t.Kind == store.TaskEffect {
			n[[2]string{t.Effect.Machine, t.Effect.Destination}]++
		}
	}
	return n
}
