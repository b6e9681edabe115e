package postgres

import (
	"cmp"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// deep is how many rows of a destination a claim looks at that has found none to claim
// among the oldest. It parks those that wait behind others: a statement for so many
// takes a few milliseconds.
const deep = 500

// deepest is how many rows of a destination one statement looks at: see claimEffects.
const deepest = 2000

// search is a claim on its way through the rows that are due.
type search struct {
	claim        store.Claim
	destinations []destinationSearch // that may have rows which no statement has looked at
	deadlines    bool                // still to be claimed
	tasks        []store.Task
}

// destinationSearch is how far a search of a destination is, among its suspects or the rest.
type destinationSearch struct {
	store.Destination
	suspects bool
	depth    int // how many rows the statement looks at
	seen     int // how many it found
	claimed  int
	left     int // rows that are neither claimed nor parked: the next statement finds them again
}

func newSearch(c store.Claim) *search {
	s := &search{claim: c, deadlines: c.Deadlines > 0 && len(c.Events) > 0}
	for _, l := range c.Destinations {
		depth := min(l.Most, c.Effects, deepest)
		if depth > 0 {
			s.destinations = append(s.destinations, destinationSearch{Destination: l, depth: depth})
		}
		if depth = min(depth, c.Suspects); depth > 0 {
			s.destinations = append(s.destinations, destinationSearch{Destination: l, suspects: true, depth: depth})
		}
	}
	return s
}

// queue queues the next statements, if there is anything left to look at.
func (s *search) queue(b *pgx.Batch) {
	c := s.claim
	if len(s.destinations) > 0 {
		b.Queue(claimEffects, c.Now,
			column(s.destinations, func(l destinationSearch) string { return l.Machine }),
			column(s.destinations, func(l destinationSearch) string { return l.Name }),
			column(s.destinations, func(l destinationSearch) any { return listText(l.Effects) }),
			column(s.destinations, func(l destinationSearch) any { return listText(l.States) }),
			column(s.destinations, func(l destinationSearch) bool { return l.suspects }),
			column(s.destinations, func(l destinationSearch) int64 { return int64(l.Most) }),
			column(s.destinations, func(l destinationSearch) int64 { return int64(l.depth) }),
			c.Suspects, c.Effects, c.Token.String(), c.Until, nullable(c.Worker))
	}
	if s.deadlines {
		machines, events := pairs(c.Events, eventsOf)
		owners, states := pairs(c.Events, statesOfEvents)
		b.Queue(claimDeadlines, c.Now, machines, events, owners, states, c.Deadlines, c.Token.String(), c.Until, nullable(c.Worker))
	}
}

// pairs lists each name of each element of a list, with its machine.
func pairs[E any](list []E, of func(E) (machine string, names []string)) (machines, names []string) {
	for _, e := range list {
		machine, its := of(e)
		for _, name := range its {
			machines, names = append(machines, machine), append(names, name)
		}
	}
	return machines, names
}

// What pairs lists.
func effectsOf(l store.Destination) (machine string, effects []string) { return l.Machine, l.Effects }
func statesOf(l store.Destination) (machine string, states []string)   { return l.Machine, l.States }
func eventsOf(e store.Events) (machine string, names []string)         { return e.Machine, e.Names }
func statesOfEvents(e store.Events) (machine string, states []string)  { return e.Machine, e.States }

// read reads what the statements found, and decides where to look next.
func (s *search) read(results pgx.BatchResults) error {
	if len(s.destinations) > 0 {
		if err := s.readEffects(results); err != nil {
			return err
		}
		s.next()
	}
	if s.deadlines {
		s.deadlines = false
		return s.readDeadlines(results)
	}
	return nil
}

func (s *search) readEffects(results pgx.BatchResults) error {
	err := each(results, func(rows pgx.Rows) error {
		var place int64
		var head, parked bool
		t := store.Task{Kind: store.TaskEffect, Token: s.claim.Token}
		t.Effect, t.Err = scanMessage(rows, &place, &head, &parked)
		l := &s.destinations[place-1]
		l.seen++
		switch {
		case head:
			l.claimed++
			s.tasks = append(s.tasks, t)
		case !parked:
			l.left++
		}
		return nil
	})
	slices.SortFunc(s.tasks, func(a, b store.Task) int {
		return cmp.Or(a.Effect.AvailableAt.V.Compare(b.Effect.AvailableAt.V), cmp.Compare(a.Effect.Version, b.Effect.Version), cmp.Compare(a.Effect.Seq, b.Effect.Seq))
	})
	return err
}

// next keeps the destinations in which there may be more to claim. So many messages behind
// cancelled ones that are still under way as to fill a statement hold the others of
// the ordering key up until these end.
func (s *search) next() {
	full, suspects := len(s.tasks) == s.claim.Effects, 0
	for _, l := range s.destinations {
		if l.suspects {
			suspects += l.claimed
		}
	}
	s.destinations = slices.DeleteFunc(s.destinations, func(l destinationSearch) bool {
		return full || l.suspects && suspects == s.claim.Suspects || l.seen < l.depth || l.claimed == l.Most || l.left == deepest
	})
	for i, l := range s.destinations {
		s.destinations[i] = destinationSearch{Destination: l.Destination, suspects: l.suspects, depth: min(deep+l.left, deepest)}
	}
}

func (s *search) readDeadlines(results pgx.BatchResults) error {
	effects := len(s.tasks)
	err := each(results, func(rows pgx.Rows) error {
		t := store.Task{Kind: store.TaskDeadline, Token: s.claim.Token}
		t.Deadline, t.Err = scanDeadline(rows)
		s.tasks = append(s.tasks, t)
		return nil
	})
	slices.SortFunc(s.tasks[effects:], func(a, b store.Task) int { return a.Deadline.DueAt.Compare(b.Deadline.DueAt) })
	return err
}
