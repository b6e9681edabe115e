//go:build unix

package jepsen_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/internal/pgtest"
	"github.com/fsmgen/fsmgen/internal/proxytest"
)

// fault is something that the nemesis does.
type fault struct {
	kind  string
	begin func(*rand.Rand) (begun, bool) // false: it could not begin now
}

// begun is a fault that has begun.
type begun struct {
	target string
	lasts  time.Duration
	heal   func() bool // ends it, or reports that it could not now; nil: it is over
}

// nemesis lets faults befall a round, two at once at most. It runs in the
// goroutine of the test.
type nemesis struct {
	random *rand.Rand
	faults []fault
	queue  []fault // what is still to come before each kind comes again
	active []healing
	counts map[string]int
	log    []string // what happened when
}

// healing is the end of a fault that goes on.
type healing struct {
	at   time.Time
	heal func() bool
}

func newNemesis(seed uint64, faults []fault) *nemesis {
	return &nemesis{random: rand.New(rand.NewPCG(seed, 3)), faults: faults, counts: map[string]int{}}
}

// run goes on until a time. Then everything is healed.
func (n *nemesis) run(until time.Time) {
	const atOnce, pause = 2, 300 * time.Millisecond
	for time.Now().Before(until) {
		n.heal(time.Now())
		if len(n.active) < atOnce {
			n.beginNext()
		}
		time.Sleep(n.between(pause/3, pause))
	}
	for len(n.active) > 0 {
		n.heal(never)
		time.Sleep(pause / 10)
	}
}

// never is after the end of every fault.
var never = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// heal ends the faults whose time is over. What one fault holds up ends after that fault.
func (n *nemesis) heal(now time.Time) {
	n.active = slices.DeleteFunc(n.active, func(a healing) bool { return !a.at.After(now) && a.heal() })
}

// beginNext lets the next fault begin. Each kind comes once before one comes again.
func (n *nemesis) beginNext() {
	if len(n.faults) == 0 {
		return
	}
	if len(n.queue) == 0 {
		n.queue = append(n.queue, n.faults...)
		n.random.Shuffle(len(n.queue), func(i, j int) { n.queue[i], n.queue[j] = n.queue[j], n.queue[i] })
	}
	f := n.queue[0]
	n.queue = n.queue[1:]
	begun := time.Now()
	b, ok := f.begin(n.random)
	if !ok {
		n.queue = append(n.queue, f)
		return
	}
	n.counts[f.kind]++
	n.log = append(n.log, fmt.Sprintf("%s %s: %s, for %s", clock(begun), b.target, f.kind, b.lasts.Round(time.Millisecond)))
	if b.heal != nil {
		n.active = append(n.active, healing{time.Now().Add(b.lasts), b.heal})
	}
}

func (n *nemesis) between(least, most time.Duration) time.Duration {
	return between(n.random, least, most)
}

func between(r *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(r.Int64N(int64(most-least)))
}

// targets are things that one lasting fault at a time can befall.
type targets[T comparable] struct {
	title    string
	all      []T
	affected map[T]bool
}

func newTargets[T comparable](title string, all ...T) targets[T] {
	return targets[T]{title, all, map[T]bool{}}
}

// lasting returns the beginning of a fault that befalls any one of the targets for a
// while. harm and heal report whether they could.
func (v targets[T]) lasting(harm, heal func(T) bool, least, most time.Duration) func(*rand.Rand) (begun, bool) {
	return func(r *rand.Rand) (begun, bool) {
		n, lasts := r.IntN(len(v.all)), between(r, least, most)
		one := v.all[n]
		if v.affected[one] || !harm(one) {
			return begun{}, false
		}
		v.affected[one] = true
		return begun{v.name(n), lasts, func() bool {
			v.affected[one] = !heal(one)
			return !v.affected[one]
		}}, true
	}
}

// instant returns the beginning of a fault that befalls any one of the targets and is
// over at once.
func (v targets[T]) instant(harm func(*rand.Rand, T)) func(*rand.Rand) (begun, bool) {
	return func(r *rand.Rand) (begun, bool) {
		n := r.IntN(len(v.all))
		harm(r, v.all[n])
		return begun{target: v.name(n)}, true
	}
}

func (v targets[T]) name(n int) string { return fmt.Sprintf("%s %d", v.title, n+1) }

// always returns f for a place where f might have reported that it could not.
func always[T any](f func(T)) func(T) bool {
	return func(one T) bool {
		f(one)
		return true
	}
}

// processFaults befall the processes. Kills and stops come twice as often as other
// faults. A process that is told to end does so in its own time.
func processFaults(processes []*process) []fault {
	v := newTargets("process", processes...)
	kills := fault{"kills", v.lasting(always((*process).kill), always((*process).start), 0, lease)}
	stops := fault{"stops beyond the lease", v.lasting(always((*process).stop), always((*process).resume), lease+lease/4, 2*lease)}
	ends := fault{"orderly ends", v.lasting(always((*process).finish), always((*process).start), 0, lease/2)}
	return []fault{kills, kills, stops, stops, ends}
}

// outsideFaults make the outside world worse than usual.
func outsideFaults(o *outside) []fault {
	v := newTargets("outside", o)
	return []fault{{"degraded outside", v.lasting(always((*outside).degrade), always((*outside).restore), lease/2, 2*lease)}}
}

// proxyFaults befall the connections between one of the processes and the server.
func proxyFaults(proxies []*proxytest.Proxy) []fault {
	v := newTargets("proxy", proxies...)
	return []fault{
		{"answers of the server swallowed", v.instant(func(r *rand.Rand, p *proxytest.Proxy) {
			for range 1 + r.IntN(4) {
				p.CutNext(proxytest.Answer)
				for range r.IntN(4) {
					p.PassNext(proxytest.Answer)
				}
			}
		})},
		{"requests to the server cut", v.instant(func(_ *rand.Rand, p *proxytest.Proxy) { p.CutNext(proxytest.Request) })},
		{"resets", v.instant(func(_ *rand.Rand, p *proxytest.Proxy) { p.Reset() })},
		{"half-open connections", v.instant(func(_ *rand.Rand, p *proxytest.Proxy) { p.HalfOpen() })},
		{"black holes", v.lasting(
			always(func(p *proxytest.Proxy) { p.Swallow(true) }),
			always(func(p *proxytest.Proxy) { p.Swallow(false); p.BreakAll() }), lease/4, 2*lease)},
		{"refusals", v.lasting(always((*proxytest.Proxy).Refuse), always((*proxytest.Proxy).Restore), lease/4, lease+lease/2)},
	}
}

// serverFaults crash the server.
func serverFaults(s *pgtest.Server) []fault {
	v := newTargets("server", s)
	return []fault{{"server crashes", v.instant(func(_ *rand.Rand, s *pgtest.Server) { s.Crash() })}}
}
