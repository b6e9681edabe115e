package fsm

import "fmt"

// Delivery is how often an effect may happen, and so what a repeat after a failure or a
// crash must take into account.
type Delivery string

// The delivery classes.
const (
	InTransaction Delivery = "transaction"  // runs inside the step's transaction
	Idempotent    Delivery = "idempotent"   // may repeat
	Keyed         Delivery = "keyed"        // repeats carry the same key
	Queryable     Delivery = "queryable"    // the handler is asked before it is carried out
	AtMostOnce    Delivery = "at_most_once" // never repeated
)

// Deliveries lists the delivery classes.
func Deliveries() []Delivery {
	return []Delivery{InTransaction, Idempotent, Keyed, Queryable, AtMostOnce}
}

// What an engine asks of a delivery class. A new class has to answer each question (the
// linter exhaustive): a comparison with one other class would answer for it. The methods
// panic for a value that is no delivery class; engine.New refuses a machine with one.

// InStep reports whether an effect of class d is carried out in the transaction of its
// step. An effect of any other class becomes a message.
func (d Delivery) InStep() bool {
	switch d {
	case InTransaction:
		return true
	case Idempotent, Keyed, Queryable, AtMostOnce:
		return false
	}
	panic(noForm("Delivery.InStep", d))
}

// Repeats reports whether an effect of class d may be attempted again after an attempt
// whose outcome is unknown.
func (d Delivery) Repeats() bool {
	switch d {
	case Idempotent, Keyed, Queryable:
		return true
	case InTransaction, AtMostOnce:
		return false
	}
	panic(noForm("Delivery.Repeats", d))
}

// Asked reports whether the handler of an effect of class d has a query that says
// whether the effect has happened.
func (d Delivery) Asked() bool {
	switch d {
	case Queryable:
		return true
	case InTransaction, Idempotent, Keyed, AtMostOnce:
		return false
	}
	panic(noForm("Delivery.Asked", d))
}

// RepeatsUnasked reports whether an effect of class d may be attempted again without a
// query, and even while an earlier attempt may still run.
func (d Delivery) RepeatsUnasked() bool {
	switch d {
	case Idempotent, Keyed:
		return true
	case InTransaction, Queryable, AtMostOnce:
		return false
	}
	panic(noForm("Delivery.RepeatsUnasked", d))
}

// noForm is the end of a method whose switch names every delivery class: the program
// has another one, and any other answer would be a guess.
func noForm(method string, d Delivery) error {
	return fmt.Errorf("fsm: %s has no answer for delivery class %q; generate the machine with the same version of fsmgen", method, string(d))
}
