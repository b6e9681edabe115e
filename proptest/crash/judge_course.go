package crash

import "time"

// order: what is in one lane of a record is called in its order.
func (j *judge) order() {
	rows := map[string]outboxRow{}
	for _, o := range j.facts.outbox {
		rows[o.message] = o
	}
	for tag, entries := range j.diary {
		last := map[string]int64{}
		for _, e := range entries {
			o, ok := rows[e.ID]
			if e.Entry != called || !ok {
				continue
			}
			lane := o.machine + " " + o.id + " " + o.lane
			if e.Version < last[lane] {
				j.problem(tag, "lane %s: version %d was called after version %d", lane, e.Version, last[lane])
			}
			last[lane] = max(last[lane], e.Version)
		}
	}
}

// leftStates: work ends with the state that asked for it. The step that leaves
// the state cancels it, which whoever sees that step sees too; what is cancelled
// is leased by nobody; and nothing else is cancelled.
func (j *judge) leftStates() {
	leavings := map[string][]int64{} // versions that left a state, by record
	for _, h := range j.facts.history {
		if e := j.tables[h.machine].edges[h.key()]; h.from != "" && !e.internal {
			leavings[h.machine+" "+h.id] = append(leavings[h.machine+" "+h.id], h.version)
		}
	}
	left := map[string]int64{} // by message of work, the version that left its state
	for _, o := range j.facts.outbox {
		for _, version := range leavings[o.machine+" "+o.id] {
			if o.work && version > o.version {
				left[o.message] = version
				break
			}
		}
		switch at := left[o.message]; {
		case at == 0 && o.cancelled:
			j.problem(o.tag, "%+v is cancelled, and its state was never left", o)
		case at > 0 && !o.cancelled && o.state != "delivered":
			j.problem(o.tag, "%+v outlives its state, which version %d left", o, at)
		}
	}
	for tag, entries := range j.diary {
		for _, e := range entries {
			if at := left[e.ID]; at > 0 && e.Seen >= at && !e.Cancelled {
				j.problem(tag, "%s %s: %s, asked for by version %d, was %s at version %d, when version %d had left its state and not cancelled it",
					e.Machine, e.Record, e.Effect, e.Version, e.Entry, e.Seen, at)
			}
		}
	}
	tags := map[string]string{}
	for _, o := range j.facts.outbox {
		tags[o.message] = o.tag
	}
	for _, l := range j.facts.leases {
		if l.cancelled {
			j.problem(tags[l.message], "%s leased message %s, which was cancelled", l.worker, l.message)
		}
	}
}

// nothingLeft: at the end of its life nothing of a record is leased, due or
// waiting.
func (j *judge) nothingLeft() {
	for _, o := range j.facts.outbox {
		// What was cancelled in the hands of a worker that died keeps the lease,
		// which is over.
		over := o.cancelled && o.leaseUntil.Before(j.last(o.tag))
		if o.state != "delivered" && !o.cancelled || o.leased && !over {
			j.problem(o.tag, "left behind: %+v", o)
		}
	}
	for _, d := range j.facts.deadlines {
		if !d.due.After(j.last(d.tag)) {
			j.problem(d.tag, "left behind: deadline %+v", d)
		}
	}
	for tag, entries := range j.diary {
		if len(entries) == 0 || entries[len(entries)-1].Entry != ended {
			j.problem(tag, "the life did not end")
		}
	}
}

// last returns the time when a life ended.
func (j *judge) last(tag string) (at time.Time) {
	for _, e := range j.diary[tag] {
		if e.Entry == clockSet {
			at = e.At
		}
	}
	return at
}
