package fsm

// EffectKind tells what an effect is made of.
type EffectKind string

// The kinds of an effect.
const (
	EffectCall   EffectKind = "call"   // a handler of the service
	EffectLog    EffectKind = "log"    // a log line, after commit
	EffectMetric EffectKind = "metric" // a measurement, after commit
	EffectUpsert EffectKind = "upsert" // a table row, in the step's transaction
	EffectUpdate EffectKind = "update"
	EffectDelete EffectKind = "delete"
	EffectStart  EffectKind = "start" // creates a record of another machine
)

// Effect is what one step asks for, as data. Payload is the generated payload
// struct of the effect, copied from the record that the step made; its JSON
// names are those of the spec. For a metric it is a [Measurement].
type Effect struct {
	Name    string     `json:"name"`
	Kind    EffectKind `json:"kind"`
	Payload any        `json:"payload"`
}

// Measurement is one observation of a metric.
type Measurement struct {
	Value  float64 `json:"value"`
	Labels []Label `json:"labels,omitempty"`
}

// Label is one label of a measurement. An absent value is the empty text.
type Label struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Observed is the subject of a metric that the engine or the service measures, not the machine.
type Observed string

// What is observed.
const (
	OfTimeout       Observed = "timeout"        // a timeout of a state, by the engine
	OfStateDuration Observed = "state_duration" // the leaving of a state, by the engine
	OfFatal         Observed = "fatal"          // an event that could not be recorded, by the engine
	OfService       Observed = "service"        // by the service around the machine
)

// EffectInfo is what the table defines for an effect or metric, independently of the
// step.
type EffectInfo struct {
	Name        string
	Kind        EffectKind
	Delivery    Delivery // "" for a metric
	Destination string   // effects of one record with the same one run in order, one at a time
	Work        bool     // belongs to the state that started it; else it is a message
	Level       string   // of a log line
	Message     string   // of a log line
	Table       string   // of upsert, update and delete
	Machine     string   // of start; of a table effect, the owner of the table
	Metric      string   // counter, gauge or histogram
	Buckets     []float64
	Labels      []string // of a metric, in order
	Of          Observed // of a metric that no row lists; "": rows list it

	// Of calls.
	RecordIDs []string    // names of the payload that hold the record's id
	Retry     RetryPolicy // of its failure class
	HasRetry  bool        // a class is named; else the engine's default policy applies
	Lock      Lock        // around each attempt
	Cleanup   string      // effect that runs before a repeat and before it fails; "": none
	HasFails  bool        // failure for good is an event
	HasLost   bool        // an attempt with unknown outcome is an event
}

// InOutbox reports whether the effect becomes a message, which a worker carries out by a
// handler of the service.
func (i EffectInfo) InOutbox() bool { return i.Kind == EffectCall && !i.Delivery.InStep() }
