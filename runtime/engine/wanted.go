package engine

import (
	"cmp"
	"maps"
	"slices"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// wanted is what the workers of an engine claim: the effects, events and states that its
// machines know. A process with another version of a machine claims the others.
type wanted struct {
	destinations []store.Destination
	events       []store.Events
}

// add adds a machine.
func (w *wanted) add(machine string, effects []fsm.EffectInfo, transitions []fsm.TransitionInfo, timeouts map[string]string, states []string) {
	w.destinations = append(w.destinations, destinationsOf(machine, effects, states)...)
	names := slices.Collect(maps.Values(timeouts))
	for _, t := range transitions {
		names = append(names, t.Event)
	}
	slices.Sort(names)
	w.events = append(w.events, store.Events{Machine: machine, Names: slices.Compact(names), States: states})
}

// destinationNames returns the destinations of all machines, sorted.
func (w wanted) destinationNames() (names []string) {
	for _, l := range w.destinations {
		names = append(names, l.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// effects lists the effects of a machine that workers carry out, by name.
func (w wanted) effects(machine string) (names []string) {
	for _, l := range w.destinations {
		if l.Machine == machine {
			names = append(names, l.Effects...)
		}
	}
	slices.Sort(names)
	return names
}

// destinationOf returns the destination of an effect.
func destinationOf(info fsm.EffectInfo) string { return cmp.Or(info.Destination, info.Name) }

// destinationsOf returns the destinations of a machine's messages, sorted by name.
func destinationsOf(machine string, effects []fsm.EffectInfo, states []string) (list []store.Destination) {
	known := map[string][]string{}
	for _, info := range effects {
		if info.InOutbox() {
			name := destinationOf(info)
			known[name] = append(known[name], info.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		list = append(list, store.Destination{Machine: machine, Name: name, Effects: known[name], States: states})
	}
	return list
}
