package scenarios

import (
	"maps"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// Vary adds to the lives that were found some in which handlers of the machine to be
// proven fail:
// each effect fails once; each that has no event for its failure fails until
// somebody mends it, and each that has one for good; and work with a timer takes
// longer than that.
func (c *Group) Vary(found []Life) []Life {
	out := slices.Clone(found)
	out = append(out, c.together(found, "handlers fail at first", Repeats, func(l Life, asks []dispatch) Life {
		return c.each(l, asks, func(r *reply) { r.fails = 1 })
	})...)
	out = append(out, c.together(found, "handlers fail until somebody mends it", buried, func(l Life, asks []dispatch) Life {
		return c.each(l, asks, func(r *reply) { r.stuck = true }).mended()
	})...)
	for _, e := range c.Proven().Effects {
		isIt := func(d dispatch) bool { return d.machine == 0 && d.effect == e }
		if e.Fails != nil && !slices.ContainsFunc(found, func(l Life) bool { return c.fails(l, e) }) {
			out = append(out, c.alone(found, "a handler fails for good", isIt, func(_ dispatch, r *reply) { *r = reply{broken: true} })...)
		}
		isTimed := func(d dispatch) bool { return isIt(d) && d.effect.IsWork() && d.timer != nil }
		out = append(out, c.alone(found, "a handler takes too long", isTimed, func(d dispatch, r *reply) {
			r.meanwhile = d.timer.at.Sub(d.at) + time.Second
		})...)
	}
	return number(out)
}

// fails reports whether an effect of the machine to be proven fails for good in a life.
func (c *Group) fails(l Life, e *ir.Effect) bool {
	return slices.ContainsFunc(l.asks, func(d dispatch) bool { return d.machine == 0 && d.effect == e && l.replies[c.asked(d.job)].broken })
}

// alone changes one reply in the shortest life that has it.
func (c *Group) alone(found []Life, name string, takes func(dispatch) bool, change func(dispatch, *reply)) []Life {
	var best *Life
	for i, l := range found {
		if slices.ContainsFunc(l.asks, takes) && (best == nil || len(l.steps) < len(best.steps)) {
			best = &found[i]
		}
	}
	if best == nil {
		return nil
	}
	d := best.asks[slices.IndexFunc(best.asks, takes)]
	varied := c.each(*best, []dispatch{d}, func(r *reply) { change(d, r) })
	varied.Name = best.Name + ", where " + name
	return []Life{varied}
}

// together changes all replies of as few lives as have every effect that the
// condition takes.
func (c *Group) together(found []Life, name string, takes func(*ir.Effect) bool, change func(Life, []dispatch) Life) []Life {
	var out []Life
	covered := map[*ir.Effect]bool{}
	for {
		var best Life
		var chosen []dispatch
		news := map[*ir.Effect]bool{}
		for _, l := range found {
			asks := slices.DeleteFunc(slices.Clone(l.asks), func(d dispatch) bool {
				return d.machine != 0 || l.replies[c.asked(d.job)].broken || !takes(d.effect)
			})
			fresh := map[*ir.Effect]bool{}
			for _, d := range asks {
				if !covered[d.effect] {
					fresh[d.effect] = true
				}
			}
			if len(fresh) > len(news) || len(fresh) == len(news) && len(news) > 0 && len(l.steps) < len(best.steps) {
				best, chosen, news = l, asks, fresh
			}
		}
		if len(news) == 0 {
			return out
		}
		varied := change(best, chosen)
		varied.Name = best.Name + ", where " + name
		out = append(out, varied)
		for effect := range news {
			covered[effect] = true
		}
	}
}

// each is l with other replies to these calls.
func (c *Group) each(l Life, asks []dispatch, change func(*reply)) Life {
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

// Repeats reports whether an effect whose handler fails is attempted again.
// Without a failure class the table decides, if it has an event for that.
func Repeats(e *ir.Effect) bool {
	allowed := e.Retry == nil && e.Fails == nil || e.Retry != nil && e.Retry.Retry != nil && e.Retry.Retry.Attempts > 0
	return e.Delivery != ir.AtMostOnce && allowed
}

// buried: an effect without an event for its failure becomes a dead letter.
func buried(e *ir.Effect) bool { return e.Fails == nil }
