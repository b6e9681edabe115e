package store

import "github.com/fsmgen/fsmgen/runtime/fsm"

// Machine describes a machine to a store: its tables, and what its table of transitions
// says about the rows that an engine keeps beside its records. Each generated package has a
// Definition that is one.
type Machine interface {
	// Name is the name of the machine in its spec.
	Name() string
	// Version is the version of the spec.
	Version() string
	// Effects lists every effect and metric of the machine.
	Effects() []fsm.EffectInfo
	// Transitions lists every transition in spec order.
	Transitions() []fsm.TransitionInfo
	// Timeouts maps each state that has a timeout to the event that it fires.
	Timeouts() map[string]string
	// Tables names the machine's own tables.
	Tables() fsm.Tables
	// Schema returns the generated DDL for "postgres" or "sqlite".
	Schema(dialect string) (string, error)
}

// Machines returns machines of another type as a store takes them.
func Machines[M Machine](list []M) []Machine {
	out := make([]Machine, len(list))
	for i, m := range list {
		out[i] = m
	}
	return out
}
