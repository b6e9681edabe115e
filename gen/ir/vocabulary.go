package ir

import "fmt"

// The vocabularies of the language are closed: each of the lists below is whole,
// and each stage has a form for every value. A switch over one of them names every
// value and ends in [NoForm] (the linter exhaustive).

// BaseTypes lists the base types in the order of FORMAT.md.
func BaseTypes() []Base {
	return []Base{String, Int, Bool, Time, Duration, UUID, JSON, ListOf, EnumOf}
}

// Ops lists the operators in the order of document 001.
func Ops() []Op {
	return []Op{Eq, Ne, Lt, Gt, Le, Ge, Exists, NotExists, In, NotIn, Contains, Matches}
}

// Deliveries lists the delivery classes.
func Deliveries() []Delivery {
	return []Delivery{InTransaction, Idempotent, Keyed, Queryable, AtMostOnce}
}

// EffectKinds lists the kinds of an effect.
func EffectKinds() []EffectKind { return []EffectKind{Call, Log, Upsert, Update, Delete, Start} }

// ExprKinds lists the kinds of an expression.
func ExprKinds() []ExprKind { return []ExprKind{Read, Null, Add, Sub} }

// Specials lists the names that the machine itself provides.
func Specials() []Special { return []Special{Now, ActorID, StateName, FromName, ErrorText} }

// Kinds lists the kinds of a state.
func Kinds() []Kind { return []Kind{Initial, Operational, Snapshot, Success, Failed, Terminal} }

// EventSources lists where an event may come from.
func EventSources() []EventSource { return []EventSource{External, Internal, Answer, Orchestrator} }

// Levels lists the levels of a log line.
func Levels() []Level { return []Level{Debug, Info, Warning, Error, Critical} }

// MetricTypes lists the types of a metric.
func MetricTypes() []MetricType { return []MetricType{Counter, Gauge, Histogram} }

// Observations lists what a metric may be about.
func Observations() []Observed {
	return []Observed{OfRows, OfTimeout, OfStateDuration, OfFatal, OfService}
}

// Sides lists the sides of a source.
func Sides() []Side { return []Side{Unknown, Constant, Before, After, StepTime} }

// NoFormError is a gap in the compiler, never a fault of a spec: a function has no
// form for a value of a closed vocabulary.
type NoFormError struct {
	Func  string // package and name of the function
	Value string // type and name of the value
}

// Error names the function and the value.
func (e *NoFormError) Error() string {
	return e.Func + " has no form for " + e.Value
}

// NoForm is the end of a function whose switch over a closed vocabulary names every
// value. A function with an error result returns it. The others panic with it: the
// value was added to the vocabulary without its form, and any other answer would be a
// guess. gen.Load and gen.Compile return that panic as their error.
func NoForm(function string, value any) *NoFormError {
	return &NoFormError{Func: function, Value: fmt.Sprintf("%T %v", value, value)}
}

// String names k.
func (k EffectKind) String() string {
	switch k {
	case Call:
		return "call"
	case Log:
		return "log"
	case Upsert:
		return "upsert"
	case Update:
		return "update"
	case Delete:
		return "delete"
	case Start:
		return "start"
	}
	return fmt.Sprintf("number %d", uint8(k))
}

// String names k.
func (k ExprKind) String() string {
	switch k {
	case Read:
		return "read"
	case Null:
		return "null"
	case Add:
		return "add"
	case Sub:
		return "sub"
	}
	return fmt.Sprintf("number %d", uint8(k))
}

// String names s.
func (s Side) String() string {
	switch s {
	case Unknown:
		return "unknown"
	case Constant:
		return "constant"
	case Before:
		return "before"
	case After:
		return "after"
	case StepTime:
		return "step time"
	}
	return fmt.Sprintf("number %d", uint8(s))
}
