package proptest

import (
	"slices"

	"github.com/fsmgen/fsmgen/gen/interp"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// identity says which id an actor of a case has.
type identity uint8

const (
	anyID   identity = iota // some id
	partyID                 // the one that the record names
	otherID                 // another one
	noID
)

// caller is a role with the kind of id it comes with.
type caller struct {
	role *ir.Actor // nil: the machine knows no actors
	id   identity
}

// callers lists who can fire an event: every role, system too; where the
// record names the actor, as that one, as another, and without an id.
func callers(m *ir.Machine) []caller {
	if len(m.Actors) == 0 {
		return []caller{{}}
	}
	var out []caller
	for _, a := range m.Actors {
		if a.Is == nil {
			out = append(out, caller{a, anyID})
			continue
		}
		out = append(out, caller{a, partyID}, caller{a, otherID}, caller{a, noID})
	}
	return append(out, caller{interp.System().Role, noID})
}

// actor is the caller as it meets rec, which is nil on creation.
func (c caller) actor(m *ir.Machine, rec *interp.Record) interp.Actor {
	if c.role == nil {
		return interp.Actor{}
	}
	out := interp.Actor{Role: c.role}
	t := actorType(m)
	switch c.id {
	case anyID, otherID:
		out.ID = nthValue(t, 6)
	case partyID:
		out.ID = nthValue(t, 5)
		if rec != nil && rec.Get(c.role.Is) != nil {
			out.ID = rec.Get(c.role.Is)
		}
	}
	return out
}

// actorType is the type of actor ids: that of the fields that name actors,
// string where no field does.
func actorType(m *ir.Machine) ir.Type {
	for _, a := range m.Actors {
		if a.Is != nil {
			return a.Is.Type
		}
	}
	return ir.Type{Base: ir.String}
}

// mayFire reports whether some row is open to the caller's role.
func (c caller) mayFire(rows []*ir.Row) bool {
	return slices.ContainsFunc(rows, func(row *ir.Row) bool {
		return row.By == nil || slices.ContainsFunc(row.By, func(a *ir.Actor) bool {
			return a == c.role || (a.System && c.role != nil && c.role.System)
		})
	})
}
