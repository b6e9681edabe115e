package crash

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/proptest/crash/scenarios"
	"github.com/fsmgen/fsmgen/runtime/engine"
)

// Subject is a machine under test, as its generated test describes it.
type Subject struct {
	// Specs is the folder of the specs.
	Specs string
	// Machines are the one under test, then those that it needs in an engine and a
	// database: what starts what, and whose tables refer to whose.
	Machines []Member
}

// Member is a generated machine.
type Member struct {
	name   string
	define func(params json.RawMessage) (engine.Machine[any], error)
	edges  []edge
}

// Fixed returns a machine without params, with its static table.
func Fixed[T transition[S, E], S, E spelled](m engine.Machine[any], list []T) Member {
	return Member{m.Name(), func(json.RawMessage) (engine.Machine[any], error) { return m, nil }, edgesOf(list)}
}

// Tuned returns a machine with params, which are chosen for the test.
func Tuned[P any, T transition[S, E], S, E spelled](define func(P) engine.Machine[any], list []T) Member {
	var none P
	return Member{define(none).Name(), func(params json.RawMessage) (engine.Machine[any], error) {
		var p P
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, fmt.Errorf("read params: %w", err)
		}
		return define(p), nil
	}, edgesOf(list)}
}

// name is that of the machine under test.
func (s Subject) name() string { return s.Machines[0].name }

// define makes the machines with the params of the plan.
func (s Subject) define(params map[string]json.RawMessage) (machines, error) {
	var out machines
	for _, m := range s.Machines {
		machine, err := m.define(params[m.name])
		if err != nil {
			return nil, fmt.Errorf("machine %s: %w", m.name, err)
		}
		out = append(out, member{machine, m.edges})
	}
	return out, nil
}

// scenarioSet is all that a proof needs to know about a subject.
type scenarioSet struct {
	name      string
	machines  machines
	group     *scenarios.Group // their tables
	scenarios []scenarios.Scenario
	windows   []Window
	silent    []*ir.State // whose deadlines fire in no scenario
	params    map[string]json.RawMessage
	span      time.Duration // from the beginning of a scenario to that of the one before it
}

// scenarioSet derives the scenarios and the windows of a subject from its table.
func (s Subject) scenarioSet() (scenarioSet, error) {
	var names []string
	for _, m := range s.Machines {
		names = append(names, m.name)
	}
	group, err := scenarios.Load(s.Specs, names...)
	if err != nil {
		return scenarioSet{}, err
	}
	found, _, silent := group.Search()
	out := scenarioSet{silent: silent, name: s.name(), group: group, scenarios: group.Vary(found), params: group.Params()}
	out.span = group.Span(out.scenarios)
	out.windows = windowsOf(out.name, kindsOf(group))
	out.machines, err = s.define(out.params)
	return out, err
}

// machines are those that share a database, the one under test first.
type machines []member

// member is a machine with its static table.
type member struct {
	engine.Machine[any]
	edges []edge
}

// definitions lists the machines as an engine takes them, with scripted handlers.
func definitions[Tx any](all machines, w *workerProcess[Tx]) []engine.Machine[Tx] {
	var out []engine.Machine[Tx]
	for _, m := range all {
		out = append(out, scriptedMachine[Tx]{m.Machine, w})
	}
	return out
}

func (all machines) member(name string) (member, error) {
	if i := slices.IndexFunc(all, func(m member) bool { return m.Name() == name }); i >= 0 {
		return all[i], nil
	}
	return member{}, fmt.Errorf("no machine %q", name)
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
