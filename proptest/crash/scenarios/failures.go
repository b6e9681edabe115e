package scenarios

import (
	"maps"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// Vary adds scenarios in which handlers of the machine under test fail: each effect fails
// once; each without an event for its failure fails until it is repaired; each with one
// fails permanently; and work with a deadline takes longer than that.
func (c *Group) Vary(found []Scenario) []Scenario {
	out := slices.Clone(found)
	out = append(out, c.together(found, "handlers fail at first", Repeats, func(s Scenario, asks []dispatch) Scenario {
		return c.each(s, asks, func(r *reply) { r.fails = 1 })
	})...)
	out = append(out, c.together(found, "handlers fail until they are repaired", buried, func(s Scenario, asks []dispatch) Scenario {
		return c.each(s, asks, func(r *reply) { r.stuck = true }).repaired()
	})...)
	for _, e := range c.Proven().Effects {
		isIt := func(d dispatch) bool { return d.machine == 0 && d.effect == e }
		if e.Fails != nil && !slices.ContainsFunc(found, func(s Scenario) bool { return c.fails(s, e) }) {
			out = append(out, c.alone(found, "a handler fails for good", isIt, func(_ dispatch, r *reply) { *r = reply{broken: true} })...)
		}
		isTimed := func(d dispatch) bool { return isIt(d) && d.effect.IsWork() && d.timer != nil }
		out = append(out, c.alone(found, "a handler takes too long", isTimed, func(d dispatch, r *reply) {
			r.meanwhile = d.timer.at.Sub(d.at) + time.Second
		})...)
	}
	return number(out)
}

// fails reports whether an effect of the machine under test fails permanently in a
// scenario.
func (c *Group) fails(s Scenario, e *ir.Effect) bool {
	return slices.ContainsFunc(s.asks, func(d dispatch) bool { return d.machine == 0 && d.effect == e && s.replies[c.asked(d.job)].broken })
}

// alone changes one reply in the shortest scenario that has it.
func (c *Group) alone(found []Scenario, name string, takes func(dispatch) bool, change func(dispatch, *reply)) []Scenario {
	var best *Scenario
	for i, s := range found {
		if slices.ContainsFunc(s.asks, takes) && (best == nil || len(s.steps) < len(best.steps)) {
			best = &found[i]
		}
	}
	if best == nil {
		return nil
	}
	d := best.asks[slices.IndexFunc(best.asks, takes)]
	varied := c.each(*best, []dispatch{d}, func(r *reply) { change(d, r) })
	varied.Name = best.Name + ", where " + name
	return []Scenario{varied}
}

// together changes all replies of a small set of scenarios that has every effect which
// takes accepts.
func (c *Group) together(found []Scenario, name string, takes func(*ir.Effect) bool, change func(Scenario, []dispatch) Scenario) []Scenario {
	var out []Scenario
	covered := map[*ir.Effect]bool{}
	for {
		var best Scenario
		var chosen []dispatch
		news := map[*ir.Effect]bool{}
		for _, s := range found {
			asks := slices.DeleteFunc(slices.Clone(s.asks), func(d dispatch) bool {
				return d.machine != 0 || s.replies[c.asked(d.job)].broken || !takes(d.effect)
			})
			fresh := map[*ir.Effect]bool{}
			for _, d := range asks {
				if !covered[d.effect] {
					fresh[d.effect] = true
				}
			}
			if len(fresh) > len(news) || len(fresh) == len(news) && len(news) > 0 && len(s.steps) < len(best.steps) {
				best, chosen, news = s, asks, fresh
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
func (c *Group) each(s Scenario, asks []dispatch, change func(*reply)) Scenario {
	s.replies = maps.Clone(s.replies)
	for _, d := range asks {
		r := s.replies[c.asked(d.job)]
		change(&r)
		s.replies[c.asked(d.job)] = r
	}
	return s
}

// repaired returns s with a repair at its end.
func (s Scenario) repaired() Scenario {
	s.steps = append(slices.Clone(s.steps), step{repair: true})
	return s
}

// Repeats reports whether an effect whose handler fails is attempted again.
// Without a failure class the table decides, if it has an event for that.
func Repeats(e *ir.Effect) bool {
	allowed := e.Retry == nil && e.Fails == nil || e.Retry != nil && e.Retry.Retry != nil && e.Retry.Retry.Attempts > 0
	return e.Delivery.Repeats() && allowed
}

// buried: an effect without an event for its failure becomes a dead letter.
func buried(e *ir.Effect) bool { return e.Fails == nil }
