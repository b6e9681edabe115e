//go:build unix

package jepsen_test

import (
	"os"
	"slices"
	"testing"

	"gopkg.in/yaml.v3"
)

// table is what the checker reads of spec/payment.yaml.
type table struct {
	States map[string]struct {
		Terminal    bool
		Entry, Exit []string
	}
	Effects map[string]effect
	Do      []string
	// Transitions in the order of the file.
	Transitions []transition
}

type effect struct {
	Delivery, To         string
	Returns, Fails, Lost firing
}

// isWork reports whether leaving the state cancels the effect.
func (e effect) isWork() bool { return e.Returns != "" || e.Fails != "" || e.Lost != "" }

type transition struct {
	Name, To, Raise string
	From, On        words
	Do              []string
	Reject          string
}

// words is one word or a list of them.
type words []string

func (w *words) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*w = words{n.Value}
		return nil
	}
	return n.Decode((*[]string)(w))
}

// firing is the name of an event that is fired, with or without data.
type firing string

func (f *firing) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.MappingNode {
		n = n.Content[0]
	}
	*f = firing(n.Value)
	return nil
}

func readTable(t testing.TB) table {
	t.Helper()
	text, err := os.ReadFile("spec/payment.yaml")
	must(t, err)
	var s table
	must(t, yaml.Unmarshal(text, &s))
	if len(s.Transitions) == 0 || len(s.Effects) == 0 {
		t.Fatal("spec/payment.yaml has no transitions or no effects: the checker would find nothing")
	}
	return s
}

// find returns the transition of a step, by its name.
func (s table) find(name string) (transition, bool) {
	i := slices.IndexFunc(s.Transitions, func(t transition) bool { return t.Name == name })
	if i < 0 {
		return transition{}, false
	}
	return s.Transitions[i], true
}

// allows reports whether a transition leads from one state to another by an event.
func (t transition) allows(from, event, to string) bool {
	if t.Reject != "" || !slices.Contains(t.On, event) {
		return false
	}
	if t.To == "" && from != to || t.To != "" && t.To != to {
		return false
	}
	return slices.Contains(t.From, from) || from == "" && slices.Contains(t.From, "none")
}

// effectsOf lists what a step by t from a state causes, in order.
func (s table) effectsOf(t transition, from string) (all []string) {
	if t.To != "" && from != "" {
		all = append(all, s.States[from].Exit...)
	}
	all = append(all, t.Do...)
	if t.To != "" {
		all = append(all, s.States[t.To].Entry...)
	}
	return append(all, s.Do...)
}

// orderingKey is the ordering key of an effect: its destination, or itself.
func (s table) orderingKey(name string) string {
	if to := s.Effects[name].To; to != "" {
		return to
	}
	return name
}

const (
	inTransaction = "transaction"
	queryable     = "queryable"
	atMostOnce    = "at_most_once"
)
