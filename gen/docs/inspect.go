package docs

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// Inspect returns the JSON object of `fsmgen inspect --format json`, indented
// and with a final newline. Its keys are those of [Inspection]; a list is []
// and never null.
func Inspect(m *ir.Machine) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // guards are full of < and >
	enc.SetIndent("", "  ")
	if err := enc.Encode(Inspected(m)); err != nil {
		return nil, fmt.Errorf("inspect %s: %w", m.Text, err)
	}
	return b.Bytes(), nil
}

// Inspection is what tools may rely on. Lists keep spec order. Guards, values
// and types are the text of the spec.
type Inspection struct {
	Machine     string        `json:"machine"`
	Version     string        `json:"version"`
	Doc         string        `json:"doc"`
	States      []StateInfo   `json:"states"`
	Transitions []RowInfo     `json:"transitions"` // one per concrete source state and event
	Events      []EventInfo   `json:"events"`
	Effects     []EffectInfo  `json:"effects"`
	Invariants  []PromiseInfo `json:"invariants"`
	Actors      []ActorInfo   `json:"actors"` // without system
	ID          FieldInfo     `json:"id"`     // the record's identity
	Fields      []FieldInfo   `json:"fields"` // of the record, without the identity
	Params      []FieldInfo   `json:"params"` // always with a default
	Enums       []EnumInfo    `json:"enums"`
	Failures    []FailureInfo `json:"failures"` // failure classes
	Uniques     []UniqueInfo  `json:"unique"`
	Metrics     []MetricInfo  `json:"metrics"`
	SQL         StorageInfo   `json:"sql"`
	Options     OptionsInfo   `json:"options"`
}

// StateInfo is a state.
type StateInfo struct {
	Name        string       `json:"name"`
	Kind        string       `json:"kind"`
	Initial     bool         `json:"initial"`
	Terminal    bool         `json:"terminal"`
	Recoverable bool         `json:"recoverable"`
	Timeout     *TimeoutInfo `json:"timeout"`
	Holds       []string     `json:"holds"`
	Entry       []string     `json:"entry"`
	Exit        []string     `json:"exit"`
	Doc         string       `json:"doc"`
}

// TimeoutInfo is a deadline. After is a duration such as 48h, with Param the
// parameter that it is the default of, or $field; it is null where the
// deadline is the time in the field At.
type TimeoutInfo struct {
	After *string           `json:"after"`
	At    *string           `json:"at"`
	Param *string           `json:"param"`
	Fire  string            `json:"fire"`
	Args  map[string]string `json:"args"`
}

// RowInfo is a transition. From is null on creation. To is null where the
// record stays in its state and where Reject names a failure class. Do is what
// the row itself names; Effects adds exit, entry and machine, in order.
type RowInfo struct {
	Name      string            `json:"name"`
	From      *string           `json:"from"`
	On        string            `json:"on"`
	To        *string           `json:"to"`
	By        []string          `json:"by"`
	When      []string          `json:"when"`
	Otherwise bool              `json:"otherwise"`
	Priority  int               `json:"priority"`
	Do        []string          `json:"do"`
	Wildcard  bool              `json:"wildcard"`
	Reject    *string           `json:"reject"`
	Set       map[string]string `json:"set"`
	Raise     *string           `json:"raise"`
	Effects   []string          `json:"effects"`
}

// EventInfo is an event. Fields is its whole payload: facts, then the record
// fields that acceptance stores.
type EventInfo struct {
	Name     string      `json:"name"`
	Source   string      `json:"source"`
	Fields   []EventData `json:"fields"`
	By       []string    `json:"by"`
	Internal bool        `json:"internal"`
	Key      *string     `json:"key"`
	Lock     *LockInfo   `json:"lock"`
	Doc      string      `json:"doc"`
}

// EventData is one value of an event. Stored tells that it is a record field.
type EventData struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Optional bool   `json:"optional"`
	Stored   bool   `json:"stored"`
}

// LockInfo is a lock.
type LockInfo struct {
	Key string `json:"key"`
	TTL string `json:"ttl"`
}

// EffectInfo is an effect. Kind is work (it answers), call (in the step's
// transaction), message, log, upsert, update, delete or start; Target is the
// table or the machine of the last four.
type EffectInfo struct {
	Name     string            `json:"name"`
	Delivery string            `json:"delivery"`
	Kind     string            `json:"kind"`
	Target   *string           `json:"target"`
	To       *string           `json:"to"`
	With     map[string]string `json:"with"`
	Returns  []string          `json:"returns"`
	Fails    *string           `json:"fails"`
	Lost     *string           `json:"lost"`
	Cleanup  *string           `json:"cleanup"`
	Retry    *string           `json:"retry"`
	Level    *string           `json:"level"`
	Doc      string            `json:"doc"`
}

// PromiseInfo is an invariant; see [InvariantEnforcers].
type PromiseInfo struct {
	Name       string   `json:"name"`
	EnforcedBy []string `json:"enforced_by"`
	Doc        string   `json:"doc"`
}

// ActorInfo is a role. Is names the record field that the caller's id equals.
type ActorInfo struct {
	Name string  `json:"name"`
	Is   *string `json:"is"`
}

// FieldInfo is a field of the record, or a parameter.
type FieldInfo struct {
	Name     string   `json:"name"`
	Type     string   `json:"type"`
	Optional bool     `json:"optional"`
	Default  *string  `json:"default"`
	Rules    []string `json:"rules"`
}

// EnumInfo is an enumeration.
type EnumInfo struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

// FailureInfo is a failure class. Retry is null for never.
type FailureInfo struct {
	Name   string     `json:"name"`
	Status int        `json:"status"`
	Retry  *RetryInfo `json:"retry"`
}

// RetryInfo is a retry policy.
type RetryInfo struct {
	First    string  `json:"first"`
	Factor   float64 `json:"factor"`
	Max      string  `json:"max"`
	Jitter   float64 `json:"jitter"`
	Attempts int     `json:"attempts"`
}

// UniqueInfo is a unique key. WhileActive: among non-terminal records only.
type UniqueInfo struct {
	Name        string   `json:"name"`
	Fields      []string `json:"fields"`
	WhileActive bool     `json:"while_active"`
}

// MetricInfo is a metric. Of is empty where rows and states list it.
type MetricInfo struct {
	Name    string    `json:"name"`
	Type    string    `json:"type"`
	Labels  []string  `json:"labels"`
	When    []string  `json:"when"`
	Buckets []float64 `json:"buckets"`
	Of      string    `json:"of"`
}

// StorageInfo names the SQL objects.
type StorageInfo struct {
	Table     string `json:"table"`
	State     string `json:"state"`
	History   string `json:"history"`
	Partition bool   `json:"partition"`
}

// OptionsInfo are the switches of a machine. Repeat is reject or success.
type OptionsInfo struct {
	Strict bool    `json:"strict"`
	Repeat string  `json:"repeat"`
	Fatal  *string `json:"fatal"`
}
