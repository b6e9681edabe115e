package service

import (
	"database/sql"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/generated/activate"
	"github.com/fsmgen/fsmgen/generated/unpack"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Role is one machine with its handlers and its customers.
type Role struct {
	Machine engine.Machine[*sql.Tx]
	// Open begins the story of record n, counted from 0; nil where another
	// machine starts the records.
	Open func(n int, now time.Time) (Opening, error)
	// Next says what the customer of a record does now.
	Next func(r fsm.Record, at Point) (Move, error)
}

// Opening is a creation event.
type Opening struct {
	Event fsm.Payload
	By    fsm.Caller
}

// Point is where a record's story has come to.
type Point struct {
	N       int   // which record, from 0; its story depends on it
	Version int64 // of the record
	Now     time.Time
}

// Move is what a customer does. The zero Move waits: for the worker, or for the
// clock.
type Move struct {
	Wrong fsm.Payload // fired first, to be refused; nil: nothing
	Event fsm.Payload
	By    fsm.Caller
	// Rest: the customer wants nothing more of this record.
	Rest bool
}

// wait leaves it to the worker or the clock.
func wait() Move { return Move{} }

// rest is the Move of a customer who is done.
func rest() Move { return Move{Rest: true} }

// system fires an event as a trusted service.
func system(e fsm.Payload) Move { return Move{Event: e, By: fsm.System()} }

// ID is the id of record n of the machine in this place of the cast.
func ID(place, n int) string { return fmt.Sprintf("00000000-0000-4000-80%02x-%012x", place, n) }

// Cast returns all ten machines in the order in which they are shown.
func Cast(o Outside, store Store) []Role {
	return []Role{
		dealRole(o), registrationRole(o), downloadRole(o, store), unpackRole(o, store), activateRole(o, store),
		uploadRole(o), publishRole(o), gcRole(o), outboxRole(), walRole(o),
	}
}

// typed lets a story read the record of its own machine.
func typed[R any](next func(r R, at Point) (Move, error)) func(fsm.Record, Point) (Move, error) {
	return func(r fsm.Record, at Point) (Move, error) {
		own, ok := r.(R)
		if !ok {
			return Move{}, fmt.Errorf("the record is a %T", r)
		}
		return next(own, at)
	}
}

// simple is typed for a story that can't fail.
func simple[R any](next func(r R, at Point) Move) func(fsm.Record, Point) (Move, error) {
	return typed(func(r R, at Point) (Move, error) { return next(r, at), nil })
}

// untilTerminal is the story of a record that nobody but the worker moves.
func untilTerminal(terminal bool) Move {
	if terminal {
		return rest()
	}
	return wait()
}

func unpackRole(o Outside, store Store) Role {
	return Role{
		Machine: unpack.Define[*sql.Tx](unpacker{o, store}, unpack.DefaultParams()),
		Next:    simple(func(r *unpack.Record, _ Point) Move { return untilTerminal(r.State.Terminal()) }),
	}
}

func activateRole(o Outside, store Store) Role {
	return Role{
		Machine: activate.Define[*sql.Tx](activator{o, store}),
		Next:    simple(func(r *activate.Record, _ Point) Move { return untilTerminal(r.State.Terminal()) }),
	}
}
