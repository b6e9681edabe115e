package crash

import (
	"time"

	"github.com/fsmgen/fsmgen/proptest/facts"
)

// order checks that messages of one ordering key are carried out in their order.
func (c *checker) order() {
	rows := map[string]facts.Message{}
	for _, o := range c.facts.Messages {
		rows[o.ID] = o
	}
	for tag, entries := range c.logs {
		last := map[string]int64{}
		for _, e := range entries {
			o, ok := rows[e.ID]
			if e.Entry != called || !ok {
				continue
			}
			key := o.Machine + " " + o.Record + " " + o.Destination
			if e.Version < last[key] {
				c.problem(tag, "ordering key %s: version %d was called after version %d", key, e.Version, last[key])
			}
			last[key] = max(last[key], e.Version)
		}
	}
}

// leftStates checks that work ends with its state. The step that leaves the state cancels
// the work in the same transaction. Cancelled work is not leased, and nothing else is
// cancelled.
func (c *checker) leftStates() {
	leavings := map[string][]int64{} // versions that left a state, by record
	for _, h := range c.facts.Steps {
		if e := c.tables[h.Machine].edges[edgeOf(h)]; h.From != "" && !e.internal {
			leavings[h.Machine+" "+h.Record] = append(leavings[h.Machine+" "+h.Record], h.Version)
		}
	}
	left := map[string]int64{} // by message of work, the version that left its state
	for _, o := range c.facts.Messages {
		for _, version := range leavings[o.Machine+" "+o.Record] {
			if o.Work && version > o.Version {
				left[o.ID] = version
				break
			}
		}
		switch at := left[o.ID]; {
		case at == 0 && o.Cancelled:
			c.problem(o.Correlation, "%+v is cancelled, and its state was never left", o)
		case at > 0 && !o.Cancelled && o.State != "delivered":
			c.problem(o.Correlation, "%+v is left after its state, which version %d left", o, at)
		}
	}
	for tag, entries := range c.logs {
		for _, e := range entries {
			if at := left[e.ID]; at > 0 && e.Seen >= at && !e.Cancelled {
				c.problem(tag, "%s %s: %s, asked for by version %d, was %s at version %d, when version %d had left its state and not cancelled it",
					e.Machine, e.Record, e.Effect, e.Version, e.Entry, e.Seen, at)
			}
		}
	}
	tags := map[string]string{}
	for _, o := range c.facts.Messages {
		tags[o.ID] = o.Correlation
	}
	for _, l := range c.facts.leases {
		if l.cancelled {
			c.problem(tags[l.message], "%s leased message %s, which was cancelled", l.worker, l.message)
		}
	}
}

// nothingLeft checks that at the end of a scenario nothing of a record is leased, due or
// waiting.
func (c *checker) nothingLeft() {
	for _, o := range c.facts.Messages {
		// A message that was cancelled while a worker held it keeps the lease of a dead worker,
		// which is over.
		over := o.Cancelled && o.LeaseUntil.Before(c.last(o.Correlation))
		if o.State != "delivered" && !o.Cancelled || o.Leased && !over {
			c.problem(o.Correlation, "left behind: %+v", o)
		}
	}
	for _, d := range c.facts.Deadlines {
		if !d.DueAt.After(c.last(d.Correlation)) {
			c.problem(d.Correlation, "left behind: deadline %+v", d)
		}
	}
	for tag, entries := range c.logs {
		if len(entries) == 0 || entries[len(entries)-1].Entry != ended {
			c.problem(tag, "the scenario did not end")
		}
	}
}

// last returns the time when a run ended.
func (c *checker) last(tag string) (at time.Time) {
	for _, e := range c.logs[tag] {
		if e.Entry == clockSet {
			at = e.At
		}
	}
	return at
}
