package proptest

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// payload is an event with what it carries.
type payload[E fmt.Stringer] interface{ Event() E }

// steps are the transitions of a call.
type steps[T fmt.Stringer] interface {
	Len() int
	At(i int) T
}

// Package is the part of a generated package that the tests call: the
// functions of the same names. Deadline gives the time and the event of
// DeadlineOf; Call makes a Call from a role, the JSON of an actor's id, a time,
// and the JSON of the params. Where no row raises an event Step is Fire, StepNew is FireNew, and
// Raised is nil.
//
// I is the type of ids, R the record, P the payload, C the call, S the steps,
// T a transition, F an effect.
type Package[I, R any, E fmt.Stringer, P payload[E], C any, S steps[T], T fmt.Stringer, F any] struct {
	DecodeEvent func(name string, data []byte) (P, error)
	Fire, Step  func(*R, P, C) (S, error)
	FireNew     func(I, P, C) (R, S, error)
	StepNew     func(I, P, C) (R, S, error)
	Raised      func(T, *R, P, C) P
	Effects     func(T, *R, P, C) []F
	Deadline    func(*R, C) (at time.Time, fire P, ok bool)
	Call        func(role string, id json.RawMessage, now time.Time, params json.RawMessage) (C, error)
	System      func(C) C // the same call by system
}

// Subject makes the package a test subject: every call goes through JSON and
// is decided twice, by Fire at once and by Step, one raised event after the
// other, which must agree.
func (p Package[I, R, E, P, C, S, T, F]) Subject() Subject {
	return func(call Call) Outcome {
		out, err := p.answer(call)
		if err != nil {
			return rejected(err)
		}
		return out
	}
}

// rejected reads the reason of a rejection from its JSON form.
func rejected(err error) Outcome {
	var rejection struct{ Reason, Failure string }
	data, jsonErr := json.Marshal(err)
	if jsonErr != nil || json.Unmarshal(data, &rejection) != nil || rejection.Reason == "" {
		return Outcome{Reason: "error: " + err.Error()}
	}
	return Outcome{Reason: rejection.Reason, Class: rejection.Failure}
}

func (p Package[I, R, E, P, C, S, T, F]) answer(call Call) (Outcome, error) {
	e, err := p.DecodeEvent(call.Event, call.Payload)
	if err != nil {
		return Outcome{}, err
	}
	c, err := p.Call(call.Role, call.ActorID, call.Now, call.Params)
	if err != nil {
		return Outcome{}, fmt.Errorf("call: %w", err)
	}
	after, taken, err := p.decide(call, e, c)
	if err != nil {
		return Outcome{}, err
	}
	out := Outcome{Transitions: []string{}}
	for i := range taken.Len() {
		out.Transitions = append(out.Transitions, taken.At(i).String())
	}
	if out.Record, err = json.Marshal(&after); err != nil {
		return Outcome{}, fmt.Errorf("encode record: %w", err)
	}
	if out.Effects, err = p.effects(call, e, c, out); err != nil {
		return Outcome{}, err
	}
	if at, fire, ok := p.Deadline(&after, c); ok {
		out.Deadline = &Deadline{At: at, Event: fire.Event().String()}
		out.Deadline.Payload, err = json.Marshal(fire)
	}
	return out, err
}

// decide runs the whole call. A rejected one must leave the record alone.
func (p Package[I, R, E, P, C, S, T, F]) decide(call Call, e P, c C) (after R, taken S, err error) {
	if call.Record == nil {
		var id I
		if err := json.Unmarshal(call.ID, &id); err != nil {
			return after, taken, fmt.Errorf("decode id: %w", err)
		}
		return p.FireNew(id, e, c)
	}
	if err := json.Unmarshal(call.Record, &after); err != nil {
		return after, taken, fmt.Errorf("decode record: %w", err)
	}
	before, err := json.Marshal(&after)
	if err != nil {
		return after, taken, fmt.Errorf("encode record: %w", err)
	}
	taken, rejection := p.Fire(&after, e, c)
	if rejection != nil {
		if unchanged, err := json.Marshal(&after); err != nil || string(unchanged) != string(before) {
			return after, taken, errors.New("a rejected call changed the record")
		}
	}
	return after, taken, rejection
}

// effects takes the steps one by one, so that each gives its effects with the
// record that it made; together they must have done what Fire did.
func (p Package[I, R, E, P, C, S, T, F]) effects(call Call, e P, c C, out Outcome) ([]json.RawMessage, error) {
	var effects []json.RawMessage
	r, taken, err := p.first(call, e, c)
	for i := 0; ; i++ {
		if err != nil {
			return nil, fmt.Errorf("step %d is rejected after the call was not: %w", i+1, err)
		}
		if taken.Len() == 0 {
			break
		}
		t := taken.At(0)
		if i >= len(out.Transitions) || t.String() != out.Transitions[i] {
			return nil, fmt.Errorf("step %d takes %s, the call took %v", i+1, t, out.Transitions)
		}
		for _, f := range p.Effects(t, &r, e, c) {
			data, err := json.Marshal(f)
			if err != nil {
				return nil, fmt.Errorf("encode effect: %w", err)
			}
			effects = append(effects, data)
		}
		if i == len(out.Transitions)-1 {
			break
		}
		e, c = p.Raised(t, &r, e, c), p.System(c)
		taken, err = p.Step(&r, e, c)
	}
	if data, err := json.Marshal(&r); err != nil || string(data) != string(out.Record) {
		return nil, fmt.Errorf("the steps end with %s, the call with %s", data, out.Record)
	}
	return effects, nil
}

func (p Package[I, R, E, P, C, S, T, F]) first(call Call, e P, c C) (r R, taken S, err error) {
	if call.Record == nil {
		var id I
		if err := json.Unmarshal(call.ID, &id); err != nil {
			return r, taken, fmt.Errorf("decode id: %w", err)
		}
		return p.StepNew(id, e, c)
	}
	if err := json.Unmarshal(call.Record, &r); err != nil {
		return r, taken, fmt.Errorf("decode record: %w", err)
	}
	taken, err = p.Step(&r, e, c)
	return r, taken, err
}
