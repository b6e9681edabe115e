package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// deep is how many rows of a destination a transaction looks at after one that has found
// none to claim among the oldest. It parks those that wait behind others.
const deep = 500

// search is a claim on its way through the messages that are due.
type search struct {
	store.Claim
	destinations []destinationSearch // that may have rows which no transaction has looked at
}

// place is a destination, and whether its suspects are searched or the rest.
type place struct {
	store.Destination
	Suspects bool
}

// places lists where a claim looks.
func places(c store.Claim) (list []place) {
	for _, l := range c.Destinations {
		list = append(list, place{Destination: l})
		if c.Suspects > 0 {
			list = append(list, place{l, true})
		}
	}
	return list
}

// destinationSearch is how far a search of a place is.
type destinationSearch struct {
	place
	depth   int // how many rows the transaction looks at
	seen    int // how many it found
	claimed int
	left    int // rows that are neither claimed nor parked: the next one finds them again
}

func newSearch(c store.Claim, places []place) *search {
	s := &search{Claim: c}
	for _, p := range places {
		if p.Suspects {
			p.Most = min(p.Most, c.Suspects)
		}
		if depth := min(p.Most, c.Effects); depth > 0 {
			s.destinations = append(s.destinations, destinationSearch{place: p, depth: depth})
		}
	}
	return s
}

// claim claims heads of ordering keys, parks what waits behind others, and decides where to
// look next.
func (s *search) claim(ctx context.Context, tx *sql.Tx) ([]store.Task, error) {
	var heads []due
	for i := range s.destinations {
		found, err := s.look(ctx, tx, &s.destinations[i])
		if err != nil {
			return nil, err
		}
		heads = append(heads, found...)
	}
	tasks := oldest(s.within(heads), s.Effects, s.Token)
	for _, t := range tasks {
		if _, err := tx.ExecContext(ctx, leaseEffect, s.Token.String(), instant(s.Until), null(s.Worker), t.Effect.MessageID); err != nil {
			return nil, fmt.Errorf("lease %s: %w", t.Effect.MessageID, cause(ctx, err))
		}
	}
	s.next(len(tasks))
	return tasks, nil
}

// within returns the heads that the limits of suspects and of destinations allow.
func (s *search) within(heads []due) (allowed []due) {
	slices.SortStableFunc(heads, func(a, b due) int {
		return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.Effect.Version, b.Effect.Version), cmp.Compare(a.Effect.Seq, b.Effect.Seq))
	})
	suspects, most := s.Suspects, map[[2]string]int{}
	for _, l := range s.Destinations {
		most[[2]string{l.Machine, l.Name}] = l.Most
	}
	for _, d := range heads {
		destination, suspect := [2]string{d.Effect.Machine, d.Effect.Destination}, d.Suspect()
		if most[destination] == 0 || suspect && suspects == 0 {
			continue
		}
		most[destination]--
		if suspect {
			suspects--
		}
		allowed = append(allowed, d)
	}
	return allowed
}

// look returns the heads among the oldest rows of a destination, at most Most.
func (s *search) look(ctx context.Context, tx *sql.Tx, l *destinationSearch) (heads []due, err error) {
	var waiting []string
	err = each(ctx, tx, func(row *cells) {
		r, err := readOutbox(row)
		d := due{Task: store.Task{Kind: store.TaskEffect, Effect: r, Err: err}, since: row.time(), at: r.AvailableAt.V}
		l.seen++
		switch waits, held := row.bool(), row.bool(); {
		case waits:
			waiting = append(waiting, r.MessageID)
		case held || len(heads) == l.Most:
			l.left++
		default:
			heads = append(heads, d)
		}
	}, dueEffects, l.Machine, instant(s.Now), l.depth, jsonList(l.Effects), l.Name, l.Suspects, jsonList(l.States))
	if err != nil {
		return nil, err
	}
	for _, id := range waiting {
		if _, err := tx.ExecContext(ctx, park, id); err != nil {
			return nil, fmt.Errorf("park %s: %w", id, cause(ctx, err))
		}
	}
	l.claimed = len(heads)
	return heads, nil
}

// next keeps the destinations in which there may be more to claim.
func (s *search) next(claimed int) {
	s.destinations = slices.DeleteFunc(s.destinations, func(l destinationSearch) bool {
		return claimed == s.Effects || l.seen < l.depth || l.claimed == l.Most
	})
	for i, l := range s.destinations {
		s.destinations[i] = destinationSearch{place: l.place, depth: deep + l.left}
	}
}
