package simulate

import (
	"fmt"
	"strings"

	"github.com/fsmgen/fsmgen/gen/interp"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// cutActor takes a final "as ACTOR" off the words.
func cutActor(words []string) (rest []string, as string) {
	if n := len(words); n >= 2 && words[n-2] == "as" {
		return words[:n-2], words[n-1]
	}
	return words, ""
}

// parseActor reads ROLE or ROLE:ID. Without an id, a role that must be named
// by the record is the one that the record names.
func (s *Session) parseActor(text string) (interp.Actor, error) {
	role, id, hasID := strings.Cut(text, ":")
	if role == "system" {
		if hasID {
			return interp.Actor{}, fmt.Errorf("system has no id")
		}
		return interp.System(), nil
	}
	names := []string{"system"}
	for _, a := range s.machine.Actors {
		names = append(names, a.Text)
		if a.Text != role {
			continue
		}
		if !hasID {
			return s.party(a), nil
		}
		t := ir.Type{Base: ir.String}
		for _, other := range s.machine.Actors { // ids of all roles have one type
			if other.Is != nil {
				t = other.Is.Type
			}
		}
		v, err := parseValue(id, t, s.now)
		return interp.Actor{Role: a, ID: v}, err
	}
	return interp.Actor{}, fmt.Errorf("there is no actor %s; %s", role, suggest(role, names))
}

// party is the actor of a role that the record names, if it does.
func (s *Session) party(role *ir.Actor) interp.Actor {
	actor := interp.Actor{Role: role}
	if role.Is != nil && s.record != nil {
		actor.ID = s.record.Get(role.Is)
	}
	return actor
}

// actorFor decides who fires ev: the one named in the command, else the one
// set before, else the only one who may.
func (s *Session) actorFor(ev *ir.Event, as string) (interp.Actor, error) {
	var actor interp.Actor
	switch {
	case as != "":
		var err error
		if actor, err = s.parseActor(as); err != nil {
			return actor, err
		}
	case s.actor != nil:
		actor = *s.actor
	case len(ev.By) == 1 && ev.By[0].System:
		return interp.System(), nil
	case len(ev.By) == 1:
		actor = s.party(ev.By[0])
	case len(ev.By) > 1:
		return actor, fmt.Errorf("say who fires it: as %s", strings.Join(roles(ev.By), ", or as "))
	}
	if r := actor.Role; r != nil && r.Is != nil && actor.ID == nil {
		return actor, fmt.Errorf("%s is somebody: say who, as %s:ID", r, r)
	}
	return actor, nil
}

func roles(by []*ir.Actor) []string {
	var out []string
	for _, a := range by {
		out = append(out, a.Text)
	}
	return out
}

func showActor(a interp.Actor) string {
	if a.ID == nil {
		return a.String()
	}
	return a.String() + ":" + show(a.ID)
}
