package fsm

import "errors"

// Verdict reports whether an actor may fire an event at a record now.
type Verdict struct {
	Event string `json:"event"`
	// Legal: a transition can be taken, given a payload for which the Needs of one of
	// Rows hold. An event that carries nothing is accepted exactly where it is legal;
	// one that is not legal is accepted with no payload.
	Legal bool     `json:"legal"`
	Rows  []string `json:"rows,omitempty"`  // the transitions that can still be chosen
	Needs []Need   `json:"needs,omitempty"` // what depends on the payload
	// Why says why the event is not legal, with the clauses that refuse and the
	// values that they saw; nil where it is legal.
	Why *Rejection `json:"why,omitempty"`
}

// Need is a clause of a transition that depends on the payload.
type Need struct {
	Row    string   `json:"row"`
	Clause string   `json:"clause"`
	Fields []string `json:"fields"` // of the payload
}

// Option is a transition of the state that a record is in, as an actor meets it.
// Generated code makes options for [Verdicts].
type Option struct {
	Event, Row string
	May        bool     // the actor may fire it
	Known      []Clause // what the record, the actor and the time decide
	Needs      []Need   // what the payload decides
	Carries    bool     // the event has a payload
	Refuses    bool     // it rejects, with Failure and Status
	Failure    string
	Status     int
}

// Verdicts decides for each event of a machine, in their order, whether it is legal. Options are those of the
// record's state, in the order in which they are tried; base begins each rejection; decode reads
// a payload; try fires an event without one at a copy of the record.
func Verdicts[P any](
	base *Rejection, events []string, options []Option, decode func(event string, payload []byte) (P, error), try func(P) error,
) []Verdict {
	fire := func(event string) error {
		payload, err := decode(event, []byte("{}"))
		if err != nil {
			return err
		}
		return try(payload)
	}
	verdicts := make([]Verdict, len(events))
	for i, event := range events {
		why := *base
		why.Event = event
		verdicts[i] = Verdict{Event: event, Why: &why}
		verdicts[i].decide(options, fire)
	}
	return verdicts
}

func (v *Verdict) decide(options []Option, try func(event string) error) {
	var open []Option // those that can still be chosen
	for _, o := range options {
		if o.Event != v.Event {
			continue
		}
		if v.Why.Reason == ErrInvalidTransition {
			v.Why.Reason = ErrNotAllowed
		}
		if !o.May {
			continue
		}
		v.Why.Reason = ErrGuardFailed
		if !o.holds() {
			if !o.Refuses { // that a refusal did not apply is no obstacle
				_ = v.Why.Explain(o.Row, o.Known...)
			}
			continue
		}
		open = append(open, o)
		v.Rows, v.Needs = append(v.Rows, o.Row), append(v.Needs, o.Needs...)
		if len(o.Needs) == 0 {
			break // whatever the payload, those behind it are not reached
		}
	}
	v.conclude(open, try)
}

// holds reports whether all that is known of o holds.
func (o Option) holds() bool {
	for _, c := range o.Known {
		if !c.Holds {
			return false
		}
	}
	return true
}

// conclude decides by the options that are left: the event is legal if one of them
// accepts.
func (v *Verdict) conclude(open []Option, try func(event string) error) {
	if len(open) == 0 {
		return
	}
	for _, o := range open {
		v.Legal = v.Legal || !o.Refuses
	}
	if !v.Legal {
		o := open[0]
		_ = v.Why.Refuse(o.Row, o.Failure, o.Status)
		return
	}
	why := v.Why
	v.Why = nil
	if open[0].Carries {
		return
	}
	if err := try(v.Event); err != nil {
		v.Legal, v.Why = false, why
		errors.As(err, &v.Why)
	}
}
