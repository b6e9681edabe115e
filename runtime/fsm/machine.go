package fsm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// This file is the face that every generated machine shows to an engine, with
// the machine's own types left out. Each generated package has a Definition
// that speaks it.

// Record is a generated *Record, whatever the machine.
type Record interface {
	StateName() string // "": not created
	Columns() []string // SQL columns in the order of Values and Pointers; the first is the id, the second the state
	Values() []any     // what to store, see Plain
	Pointers() []any   // where to scan
}

// Payload is a generated payload struct of an event, or an [Event].
type Payload interface{ EventName() string }

// Event is an event with its payload as JSON: what deadlines, answers and histories store. The
// payload of an event that carries nothing is {}. As a Payload it is for programs that know a
// machine by name alone.
type Event struct {
	Name    string          `json:"name"`
	Payload json.RawMessage `json:"payload"`
	value   Payload         // what Payload encodes, where decoding gives the same; nil: not known
}

// Value is the payload struct that EventOf has encoded, nil for an event that came as JSON. It is
// there only where decoding Payload gives the same: not for a pointer, a list, or text that is not
// UTF-8 or has a NUL character.
func (e Event) Value() Payload { return e.value }

// EventName is the event's name in the spec.
func (e Event) EventName() string { return e.Name }

// EventOf encodes a payload struct. An Event stays as it is, in compact JSON.
func EventOf(p Payload) (Event, error) {
	e, isEvent := p.(Event)
	if isEvent && e.value != nil {
		return e, nil
	}
	var carried any = p
	if isEvent {
		carried = e.Payload
	}
	text, err := json.Marshal(carried)
	if err != nil {
		return Event{}, fmt.Errorf("encode event %s: %w", p.EventName(), err)
	}
	encoded := Event{Name: p.EventName(), Payload: text}
	if !isEvent && isValue(p) && !bytes.Contains(text, []byte(notUTF8)) && !bytes.Contains(text, []byte(nul)) {
		encoded.value = p
	}
	return encoded, nil
}

// How encoding/json writes bytes that are no UTF-8, which decoding changes, and the character
// that it refuses.
const (
	notUTF8 = `\ufffd`
	nul     = `\u0000`
)

// isValue reports whether p is a struct that shares no memory with its caller.
func isValue(p Payload) bool { return IsStruct(p) && reflect.TypeOf(p).Comparable() }

// IsStruct reports whether p is a payload struct: neither nil nor a pointer.
func IsStruct(p Payload) bool { return p != nil && reflect.TypeOf(p).Kind() == reflect.Struct }

// AnswerOf is EventOf for what a handler answered.
func AnswerOf(p Payload) (*Event, error) {
	e, err := EventOf(p)
	if err != nil {
		return nil, err
	}
	return &e, nil
}

// Fired is EventOf for what the machine itself fires. A payload that can't be
// encoded, since a param has no declared value, becomes null: every machine
// refuses that with a reason, so that it is not lost.
func Fired(p Payload) *Event {
	e, err := EventOf(p)
	if err != nil {
		return &Event{Name: p.EventName(), Payload: json.RawMessage("null")}
	}
	return &e
}

// Message makes a text out of an error message that every field can hold: not
// empty, at most limit characters (0: 4096), UTF-8, without NUL.
func Message(text string, limit int) string {
	if limit == 0 {
		limit = 4096
	}
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "?"), "\x00", "?")
	if text == "" {
		text = "failed without a message"
	}
	if runes := []rune(text); len(runes) > limit {
		text = string(runes[:limit])
	}
	return text
}

// Caller names the role and the id that fire an event. A machine without actors records
// both and checks neither.
type Caller struct {
	Role string // as the spec spells it
	ID   string // text form of the id; "": none
}

// System is the engine or a trusted service.
func System() Caller { return Caller{Role: "system"} }

// Input is what a decision depends on besides the record and the event.
type Input struct {
	By     Caller
	Now    time.Time
	Single bool // leave out what the step raises, see Decision.Raised
}

// Decision is an accepted event. No steps: the record was there already, which
// is a success that changes nothing.
type Decision struct {
	Steps  []Step
	Raised *Event // with Input.Single only: what the step raises, fired by System
	Record Record // after the last step
}

// Step is one transition taken.
type Step struct {
	Transition   string // name of the row in the spec
	From         string // "": the record was created
	Event        string
	To           string
	Internal     bool            // the state is not left: its deadline and work stay
	Terminal     bool            // To is terminal
	Kind         string          // semantic role of To: initial, operational, snapshot, success, error or terminal
	Payload      json.RawMessage // what the event carried
	By           Caller
	Record       Record    // a copy of the record after this step
	Effects      []Effect  // in order
	Deadline     *Deadline // what this step sets; nil: nothing
	KeepDeadline bool      // leave the deadline as it is; else Deadline replaces or removes it
}

// Deadline is an event that the system fires at a time unless the state is left
// before.
type Deadline struct {
	At   time.Time
	Fire Event
}

// Due is a deadline as data; nil if there is none.
func Due(at time.Time, fire Payload, ok bool) *Deadline {
	if !ok {
		return nil
	}
	return &Deadline{At: at, Fire: *Fired(fire)}
}

// Dispatch is one effect on its way to a handler.
type Dispatch struct {
	ID          string // the same for every attempt: the idempotency key to send along
	Machine     string
	Record      string // id of the record, as text
	Effect      string
	Version     int64     // of the step that asked for it
	At          time.Time // of that step
	Attempt     int       // from 1
	Correlation string
	Payload     json.RawMessage
}

// PayloadOf decodes the payload of an effect as strictly as [Decode] does that of an
// event. No payload is an empty one. The error is a *PayloadError.
func PayloadOf[P any](d Dispatch, required ...string) (P, error) {
	data := d.Payload
	if len(data) == 0 || string(data) == "null" {
		data = json.RawMessage("{}")
	}
	p, wrong := decode[P](data, required)
	if wrong != nil {
		return p, &PayloadError{Machine: d.Machine, Record: d.Record, Effect: d.Effect, Field: wrong.field, Problem: wrong.problem, Foreign: wrong.foreign}
	}
	return p, nil
}

// PayloadError is returned when the payload of an effect can't be read.
type PayloadError struct {
	Machine, Record, Effect string
	Field, Problem          string // the field that is wrong, and what is wrong with it
	// Foreign: a field is unknown, or a required one is missing. Another version of the
	// machine asked for the effect.
	Foreign bool
}

func (e *PayloadError) Error() string {
	advice := ""
	if e.Foreign {
		advice = ": run the version of the machine that asked for it"
	}
	return fmt.Sprintf("payload of effect %s of %s %s: %s %s%s", e.Effect, e.Machine, e.Record, e.Field, e.Problem, advice)
}

// Column is a column with what to store there, see Plain.
type Column struct {
	Name  string
	Value any
}

// TableWrite is an effect on a table: EffectUpsert, EffectUpdate or
// EffectDelete of the row with the given key. Columns are the other columns
// that the effect names; what it does not name stays, or gets its default.
// Names are SQL identifiers without quotes.
type TableWrite struct {
	Table   string
	Op      EffectKind
	Key     []Column
	Columns []Column
}

// Start asks for a record of another machine.
type Start struct {
	Machine string
	Event   Event // its creation event
}

// StartOf makes a Start from the payload of an effect, whose names are those of
// the creation event.
func StartOf(machine, event string, payload any) (Start, error) {
	text := []byte("{}")
	if payload != nil {
		var err error
		if text, err = json.Marshal(payload); err != nil {
			return Start{}, fmt.Errorf("encode event %s of machine %s: %w", event, machine, err)
		}
	}
	return Start{Machine: machine, Event: Event{Name: event, Payload: text}}, nil
}

// Tables names the SQL objects of a machine. Names are SQL identifiers without
// quotes. The record table has version, last_event, entered_at, created_at and
// updated_at besides Columns.
type Tables struct {
	Record  string
	History string
	ID      string   // column of the id, in both
	State   string   // column of the state
	From    string   // column of the history: the old state
	To      string   // column of the history: the new state
	Columns []string // of the record table, as Record.Columns says
	Others  []string // further tables that the schema creates
	// Partitioned: on PostgreSQL the history is partitioned by created_at.
	Partitioned bool
}

// TransitionInfo is what the table says about a transition: a row of the spec from
// one state on one event. Rows of a history name it by Name, From and Event.
type TransitionInfo struct {
	Name    string
	From    string // "": creation
	Event   string
	To      string
	Raises  string   // the event that follows in the same call; "": none
	Effects []string // effects and metrics, in their order
}

// UnknownEffect is the error for an effect that a machine does not have, or not
// of that kind: what a row of a newer or older table asks for.
func UnknownEffect(machine, effect string) error {
	return fmt.Errorf("machine %s has no such effect %q", machine, effect)
}

// NoAnswer is the error for a handler that returned neither an answer nor an
// error, or an answer that is not one of the effect's payload structs.
func NoAnswer(machine, effect string, answer any) error {
	return fmt.Errorf("machine %s: handler of %s answered %T, not one of the events it may answer with", machine, effect, answer)
}
