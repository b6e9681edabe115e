package fsm

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Spec has what a table defines independently of records. It is never written.
type Spec struct {
	Name, Version string
	States        []string // in the order of the spec
	Terminal      []string // the states that no transition leaves
	Transitions   []TransitionInfo
	Timeouts      map[string]string // each state that has a timeout: the event that it fires
	Effects       []EffectInfo      // effects, then metrics
	Tables        Tables
	Schemas       map[string]string // DDL by dialect
}

// Facts answers what an engine asks of a table whatever the record. A definition embeds it, and
// has methods of its own for the kinds of effects that its table has: those of Facts, from KeyOf
// on, are for a table without.
type Facts struct{ spec Spec }

// NewFacts keeps spec.
func NewFacts(spec Spec) *Facts { return &Facts{spec} }

// Name is the name of the machine.
func (f *Facts) Name() string { return f.spec.Name }

// Version is the version of the table.
func (f *Facts) Version() string { return f.spec.Version }

// States names every state in the order of the spec.
func (f *Facts) States() []string { return slices.Clone(f.spec.States) }

// TerminalStates names the states that no transition leaves.
func (f *Facts) TerminalStates() []string { return slices.Clone(f.spec.Terminal) }

// Transitions lists every transition in the order of the spec.
func (f *Facts) Transitions() []TransitionInfo { return slices.Clone(f.spec.Transitions) }

// Timeouts maps each state that has a timeout to the event that it fires.
func (f *Facts) Timeouts() map[string]string { return maps.Clone(f.spec.Timeouts) }

// Effects lists what the table says about each effect and metric.
func (f *Facts) Effects() []EffectInfo { return slices.Clone(f.spec.Effects) }

// Tables names the SQL objects of the machine. The caller must not change its lists.
func (f *Facts) Tables() Tables { return f.spec.Tables }

// Schema returns the DDL of the machine for a dialect: postgres or sqlite.
func (f *Facts) Schema(dialect string) (string, error) {
	schema, ok := f.spec.Schemas[dialect]
	if !ok {
		return "", fmt.Errorf("%s: no schema for dialect %q", f.spec.Name, dialect)
	}
	return schema, nil
}

// KeyOf returns the idempotency key that e has by its own template, false for none. r is nil for
// a creation.
func (f *Facts) KeyOf(e Event, r Record) (string, bool) { return "", false }

// FatalEvent returns the event that is fired when an accepted step could not be recorded, false
// for none.
func (f *Facts) FatalEvent() (Event, bool) { return Event{}, false }

// TableWrite returns an effect on a table as data.
func (f *Facts) TableWrite(e Effect) (TableWrite, error) {
	return TableWrite{}, UnknownEffect(f.spec.Name, e.Name)
}

// StartOf returns the creation of another machine's record that an effect asks for.
func (f *Facts) StartOf(e Effect) (Start, error) {
	return Start{}, UnknownEffect(f.spec.Name, e.Name)
}

// CleanupOf returns the effect that runs before effect is repeated and before it fails, with its
// payload from the record as it is; false for none.
func (f *Facts) CleanupOf(effect string, record Record, now time.Time) (Effect, bool) {
	return Effect{}, false
}

// FailEvent returns what is fired when the effect has failed for good, nil for nothing. message
// tells why.
func (f *Facts) FailEvent(effect, message string) *Event { return nil }

// LostEvent returns what is fired when an attempt has an unknown outcome and must not be
// repeated, nil for nothing.
func (f *Facts) LostEvent(effect string) *Event { return nil }
