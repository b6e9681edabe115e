package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// deep is how many rows of a destination a transaction reads if the one before has found none to
// claim among the oldest rows.
const deep = 500

// search looks for the messages of a claim. It takes several transactions if the oldest due
// messages wait behind others.
type search struct {
	store.Claim
	destinations []destinationSearch // those that may have rows which no transaction has read
}

// place is a destination with its suspects, or with its other messages.
type place struct {
	store.Destination
	Suspects bool
}

// places returns the places of a claim.
func places(c store.Claim) (list []place) {
	for _, l := range c.Destinations {
		list = append(list, place{Destination: l})
		if c.Suspects > 0 {
			list = append(list, place{l, true})
		}
	}
	return list
}

// destinationSearch is the progress of a search in a place.
type destinationSearch struct {
	place
	depth   int // how many rows the transaction reads at most
	seen    int // how many it read
	claimed int
	left    int // rows that it neither claimed nor parked: the next transaction reads them again
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

// claim claims due messages that are the first of their ordering key, and parks those behind
// others. It keeps the destinations that the next transaction must search.
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

// within returns the messages that the limits of suspects and of destinations allow, oldest first.
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

// look returns the messages among the oldest rows of a destination that are the first of their
// ordering key, at most Most. It parks those behind others.
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

// next keeps the destinations that may have more messages to claim.
func (s *search) next(claimed int) {
	s.destinations = slices.DeleteFunc(s.destinations, func(l destinationSearch) bool {
		return claimed == s.Effects || l.seen < l.depth || l.claimed == l.Most
	})
	for i, l := range s.destinations {
		s.destinations[i] = destinationSearch{place: l.place, depth: deep + l.left}
	}
}
