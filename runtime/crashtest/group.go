package crashtest

import (
	"fmt"

	"github.com/fsmgen/fsmgen/generated/activate"
	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/generated/gc"
	"github.com/fsmgen/fsmgen/generated/outbox"
	"github.com/fsmgen/fsmgen/generated/publish"
	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/generated/unpack"
	"github.com/fsmgen/fsmgen/generated/upload"
	"github.com/fsmgen/fsmgen/generated/wal"
	"github.com/fsmgen/fsmgen/runtime/engine"
)

// Groups names the groups of machines that are proven. Machines that start one
// another are in one group.
func Groups() []string {
	return []string{"image", "deal", "registration", "upload", "publish", "outbox", "gc", "wal"}
}

// group is machines with lives that take records of all of them through their
// tables.
type group[Tx any] struct {
	machines []member[Tx]
	lives    []life
}

// member is a machine with its static table and the kinds of windows that it
// has.
type member[Tx any] struct {
	engine.Machine[Tx]
	edges []edge
	kinds []Kind
}

func groupOf[Tx any](name string) (group[Tx], error) {
	switch name {
	case "upload":
		return alone(upload.Define[Tx](nil), edgesOf(upload.Transitions()), uploadKinds, uploadLives()), nil
	case "publish":
		return alone(publish.Define[Tx](nil), edgesOf(publish.Transitions()), publishKinds, publishLives()), nil
	case "outbox":
		return alone(outbox.Define[Tx](nil, outboxParams), edgesOf(outbox.Transitions()), outboxKinds, outboxLives()), nil
	case "gc":
		return alone(gc.Define[Tx](nil, gc.DefaultParams()), edgesOf(gc.Transitions()), gcKinds, gcLives()), nil
	case "registration":
		return alone(registration.Define[Tx](nil, registrationParams), edgesOf(registration.Transitions()), registrationKinds, registrationLives()), nil
	case "wal":
		return alone(wal.Define[Tx](nil, walParams), edgesOf(wal.Transitions()), walKinds, walLives()), nil
	case "deal":
		return alone(deal.Define[Tx](nil, deal.DefaultParams()), edgesOf(deal.Transitions()), dealKinds, dealLives()), nil
	case "image":
		return group[Tx]{[]member[Tx]{
			{download.Define[Tx](nil, download.DefaultParams()), edgesOf(download.Transitions()), downloadKinds},
			{unpack.Define[Tx](nil, unpack.DefaultParams()), edgesOf(unpack.Transitions()), unpackKinds},
			{activate.Define[Tx](nil), edgesOf(activate.Transitions()), activateKinds},
		}, imageLives()}, nil
	}
	return group[Tx]{}, fmt.Errorf("no group %q", name)
}

func alone[Tx any](m engine.Machine[Tx], edges []edge, kinds []Kind, lives []life) group[Tx] {
	return group[Tx]{[]member[Tx]{{m, edges, kinds}}, lives}
}

// definitions lists the machines as an engine takes them.
func (g group[Tx]) definitions() []engine.Machine[Tx] {
	out := make([]engine.Machine[Tx], len(g.machines))
	for i, m := range g.machines {
		out[i] = m.Machine
	}
	return out
}

func (g group[Tx]) life(name string) (life, error) {
	for _, l := range g.lives {
		if l.name == name {
			return l, nil
		}
	}
	return life{}, fmt.Errorf("no life %q", name)
}

// edge is a transition of the static table.
type edge struct {
	transition, from, event, to string
	internal                    bool
	raises                      bool
	effects                     []string
}

// spelled is a generated enumeration.
type spelled interface {
	comparable
	String() string
}

// transition is a generated Transition.
type transition[S, E spelled] interface {
	String() string
	From() S
	Event() E
	To() S
	Internal() bool
	Raises() E
	Effects() []string
}

func edgesOf[T transition[S, E], S, E spelled](list []T) []edge {
	var noState S
	var noEvent E
	out := make([]edge, len(list))
	for i, t := range list {
		out[i] = edge{
			transition: t.String(), event: t.Event().String(), to: t.To().String(), internal: t.Internal(),
			raises: t.Raises() != noEvent, effects: t.Effects(),
		}
		if t.From() != noState {
			out[i].from = t.From().String()
		}
	}
	return out
}
