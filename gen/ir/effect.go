package ir

import "github.com/fsmgen/fsmgen/gen/diag"

// Delivery says how often the effect may happen (DESIGN, Durable semantics).
type Delivery string

// The delivery classes.
const (
	// InTransaction: runs inside the step's transaction.
	InTransaction Delivery = "transaction"
	// Idempotent: may repeat.
	Idempotent Delivery = "idempotent"
	// Keyed: repeats carry the same key.
	Keyed Delivery = "keyed"
	// Queryable: the handler is asked before it is carried out.
	Queryable Delivery = "queryable"
	// AtMostOnce: never repeated; lost is an event.
	AtMostOnce Delivery = "at_most_once"
)

// Repeats reports whether an effect of class d may be carried out again.
func (d Delivery) Repeats() bool {
	switch d {
	case InTransaction, AtMostOnce:
		return false
	case Idempotent, Keyed, Queryable:
		return true
	}
	panic(NoForm("ir.Delivery.Repeats", d))
}

// MayBeLost reports whether recovery may leave open if an effect of class d happened.
func (d Delivery) MayBeLost() bool {
	switch d {
	case AtMostOnce, Queryable:
		return true
	case InTransaction, Idempotent, Keyed:
		return false
	}
	panic(NoForm("ir.Delivery.MayBeLost", d))
}

// EffectKind tells what an effect is made of.
type EffectKind uint8

// The kinds of an effect.
const (
	Call   EffectKind = iota + 1 // a handler of the service
	Log                          // a log line, after commit
	Upsert                       // a table row, in the step's transaction
	Update
	Delete
	Start // creates a record of another machine, in the same transaction
)

// Effect is a side effect.
type Effect struct {
	Name
	Index    int
	Kind     EffectKind
	Delivery Delivery // Log: at_most_once; Upsert, Update, Delete, Start: transaction
	// To is the destination. Effects of one record with the same To run in order,
	// one at a time. "": the effect's own name.
	To   string
	With []Payload

	// Work: an effect with Returns, Fails or Lost belongs to the state that
	// started it. Else it is a message and is always delivered.
	Returns []*Fire
	Fails   *Fire
	Lost    *Fire
	Cleanup *Effect
	Retry   *Failure
	Lock    *Lock

	Level Level // of Log

	Table *Table        // of Upsert, Update, Delete
	Row   []ColumnValue // of Upsert, Update (all columns), Delete (the key)

	Machine *Machine // of Start: the machine created; With binds its creation event
}

// Level is the level of a log line.
type Level string

// The levels of a log line.
const (
	Debug    Level = "DEBUG"
	Info     Level = "INFO"
	Warning  Level = "WARNING"
	Error    Level = "ERROR"
	Critical Level = "CRITICAL"
)

// IsWork reports whether e answers with events and so belongs to a state.
func (e *Effect) IsWork() bool { return len(e.Returns) > 0 || e.Fails != nil || e.Lost != nil }

// Payload is one named value that travels with an effect.
type Payload struct {
	Name  string
	Value Expr
	Span  diag.Span
}

// Metric is a Prometheus metric.
type Metric struct {
	Name
	Index   int
	Type    MetricType
	Labels  []Payload // of OfService: names only, Value.Kind is 0
	Value   *Expr     // nil: 1
	Buckets []float64
	When    []*Clause // gates the increment, on the new record
	Of      Observed
}

// MetricType tells how a metric is counted.
type MetricType string

// The types of a metric.
const (
	Counter   MetricType = "counter"
	Gauge     MetricType = "gauge"
	Histogram MetricType = "histogram"
)

// Observed names what a metric is about, and so who observes it.
type Observed string

// What metrics are about. The engine measures all but the first and the last.
const (
	OfRows          Observed = "" // rows list it
	OfTimeout       Observed = "timeout"
	OfStateDuration Observed = "state_duration"
	OfFatal         Observed = "fatal"
	OfService       Observed = "service" // measured by what surrounds the machine
)
