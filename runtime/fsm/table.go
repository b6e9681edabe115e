package fsm

import "slices"

// Word is a small integer type whose values are words of a spec. Zero is none of them.
type Word interface {
	~uint8 | ~uint16
	String() string
}

// Row is what a spec says about a transition from states S on events E.
type Row[S, E Word] struct {
	Name     string
	From     S // zero: creation
	Event    E
	To       S
	Internal bool // stays in From: no exit, no entry, deadline kept
	Raises   E    // follows in the same call; zero: nothing
	Effects  []string
}

// Table has the rows of a machine by its transitions T, which count from 1. It is never written.
type Table[T ~uint16, S, E Word] []Row[S, E]

// Row looks t up; a transition that is none has an empty row.
func (table Table[T, S, E]) Row(t T) *Row[S, E] {
	if int(t) >= len(table) {
		return &table[0]
	}
	return &table[t]
}

// Leaving is the transition from a state that the spec has in one row with t, zero for none.
func (table Table[T, S, E]) Leaving(t T, from S) T {
	row := table.Row(t)
	for i := int(t); i < len(table); i++ {
		if other := &table[i]; other.From == from && other.Name == row.Name && other.Event == row.Event {
			return T(i)
		}
	}
	return 0
}

// All lists the transitions in the order of the spec.
func (table Table[T, S, E]) All() []T {
	all := make([]T, len(table)-1)
	for i := range all {
		all[i] = T(i + 1)
	}
	return all
}

// Events lists the events that have a transition from a state, in the order of the spec.
func (table Table[T, S, E]) Events(from S) []E {
	var events []E
	for _, row := range table[1:] {
		if row.From == from {
			events = append(events, row.Event)
		}
	}
	slices.Sort(events)
	return slices.Compact(events)
}

// Step is a transition as data: the event that it answers, its caller, and the record after it.
func (table Table[T, S, E]) Step(t T, e Event, by Caller, after Record) Step {
	row := table.Row(t)
	return Step{
		Transition: row.Name, From: WordOf(row.From), Event: e.Name, To: row.To.String(), Internal: row.Internal,
		Payload: e.Payload, By: by, Record: after,
	}
}

// Infos says the same by name alone.
func (table Table[T, S, E]) Infos() []TransitionInfo {
	infos := make([]TransitionInfo, 0, len(table)-1)
	for _, row := range table[1:] {
		infos = append(infos, TransitionInfo{
			Name: row.Name, From: WordOf(row.From), Event: row.Event.String(), To: row.To.String(),
			Raises: WordOf(row.Raises), Effects: row.Effects,
		})
	}
	return infos
}

// WordOf is the word of v, empty for zero.
func WordOf[W Word](v W) string {
	if v == 0 {
		return ""
	}
	return v.String()
}

// Last returns the last of a list, zero if it is empty.
func Last[T any](list []T) (last T) {
	if n := len(list); n > 0 {
		last = list[n-1]
	}
	return last
}

// Created drops the record of a creation that was rejected.
func Created[R, S any](r R, steps S, err error) (record R, taken S, rejection error) {
	if err != nil {
		return record, taken, err
	}
	return r, steps, nil
}
