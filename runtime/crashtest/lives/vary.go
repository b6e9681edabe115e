package lives

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// Vary adds to the lives that were found some in which the hero's handlers fail:
// each effect fails once; each that has no event for its failure fails until
// somebody mends it; and work with a timer takes longer than that.
func (c *Cast) Vary(found []Life) []Life {
	out := slices.Clone(found)
	out = append(out, c.vary(found, "handlers fail at first", repeats, func(l Life, asks []dispatch) Life {
		return c.each(l, asks, func(r *reply) { r.fails = 1 })
	})...)
	out = append(out, c.vary(found, "handlers fail until somebody mends it", buried, func(l Life, asks []dispatch) Life {
		return c.each(l, asks, func(r *reply) { r.stuck = true }).mended()
	})...)
	out = append(out, c.vary(found, "a handler takes too long", timed, func(l Life, asks []dispatch) Life {
		first := asks[0]
		return c.each(l, asks[:1], func(r *reply) { r.meanwhile = first.timer.at.Sub(first.at) + time.Second })
	})...)
	return number(out)
}

// vary changes as few lives as ask for every effect that the condition takes.
func (c *Cast) vary(found []Life, name string, takes func(dispatch) bool, change func(Life, []dispatch) Life) []Life {
	var out []Life
	covered := map[*ir.Effect]bool{}
	for {
		var best Life
		var chosen []dispatch
		news := map[*ir.Effect]bool{}
		for _, l := range found {
			asks := slices.DeleteFunc(slices.Clone(l.asks), func(d dispatch) bool {
				r := l.replies[c.asked(d.job)]
				return d.figure != 0 || r.broken || !takes(d)
			})
			fresh := map[*ir.Effect]bool{}
			for _, d := range asks {
				if !covered[d.effect] {
					fresh[d.effect] = true
				}
			}
			better := cmp.Compare(len(fresh), len(news))
			if better > 0 || better == 0 && len(news) > 0 && len(l.steps) < len(best.steps) {
				best, chosen, news = l, asks, fresh
			}
		}
		if len(news) == 0 {
			return out
		}
		chosen = slices.Clone(chosen)
		slices.SortStableFunc(chosen, func(a, b dispatch) int { // what is new comes first
			return cmp.Compare(btoi(covered[a.effect]), btoi(covered[b.effect]))
		})
		varied := change(best, chosen)
		varied.Name = best.Name + ", where " + name
		out = append(out, varied)
		for effect := range news {
			covered[effect] = true
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// each is l with other replies to these calls.
func (c *Cast) each(l Life, asks []dispatch, change func(*reply)) Life {
	l.replies = maps.Clone(l.replies)
	for _, d := range asks {
		r := l.replies[c.asked(d.job)]
		change(&r)
		l.replies[c.asked(d.job)] = r
	}
	return l
}

// mended is l with somebody at its end who mends what is broken.
func (l Life) mended() Life {
	l.steps = append(slices.Clone(l.steps), step{mend: true})
	return l
}

// repeats: the effect may be attempted again.
func repeats(d dispatch) bool { return Repeats(d.effect) }

// Repeats reports whether an effect that fails is attempted again.
func Repeats(e *ir.Effect) bool {
	// An effect without a failure class has the engine's policy, which repeats.
	allowed := e.Retry == nil || e.Retry.Retry != nil && e.Retry.Retry.Attempts > 0
	return e.Delivery != ir.AtMostOnce && allowed
}

// buried: an effect without an event for its failure becomes a dead letter.
func buried(d dispatch) bool { return d.effect.Fails == nil }

// timed: work that a timer can end.
func timed(d dispatch) bool { return d.effect.IsWork() && d.timer != nil }
