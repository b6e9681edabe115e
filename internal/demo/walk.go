package main

import (
	"fmt"
	"reflect"
	"time"
)

// walk takes one record of a generated package along a story. R is the
// package's Record, P its Payload and A its Actor.
type walk[R, P, A any] struct {
	t      *transcript
	record R
	now    time.Time
	timer  *timer[P]
	system A
	// decide applies one event to the record, without what the step raises,
	// and describes the step. It changes the record only when it returns no
	// error.
	decide func(r *R, e P, by A, now time.Time) (decision[P], error)
	// name and label write an event and an actor.
	name  func(P) string
	label func(A) string
}

// decision is one accepted step.
type decision[P any] struct {
	step   step
	raised P         // nil: nothing
	armed  *timer[P] // the deadline of the state that was entered; nil: none
}

// timer is an armed deadline.
type timer[P any] struct {
	at    time.Time
	event P
}

// after lets time pass and fires an event.
func (w *walk[R, P, A]) after(pause time.Duration, by A, e P) error {
	w.now = w.now.Add(pause)
	return w.fire(w.label(by), by, e)
}

// fire applies an event and what it raises, one step at a time so that each
// is shown with the record that it made.
func (w *walk[R, P, A]) fire(label string, by A, e P) error {
	for any(e) != nil {
		d, err := w.decide(&w.record, e, by, w.now)
		if err != nil {
			return err
		}
		d.step.at, d.step.by = w.now, label
		if !d.step.stays {
			w.timer = d.armed
		}
		if w.timer != nil && !d.step.stays {
			d.step.deadline, d.step.deadlineAt = w.name(w.timer.event), w.timer.at
		}
		w.t.step(d.step)
		e, by, label = d.raised, w.system, w.label(w.system)
	}
	return nil
}

// refused fires an event that must not be accepted.
func (w *walk[R, P, A]) refused(pause time.Duration, by A, e P) error {
	w.now = w.now.Add(pause)
	before := w.record
	_, err := w.decide(&w.record, e, by, w.now)
	if !reflect.DeepEqual(w.record, before) {
		return fmt.Errorf("%s was refused and changed the record", w.name(e))
	}
	return w.t.refused(w.now, w.name(e), w.label(by), err)
}

// waitForDeadline lets the clock run until the armed deadline fires.
func (w *walk[R, P, A]) waitForDeadline() error {
	if w.timer == nil {
		return fmt.Errorf("no deadline is armed at %s", w.now)
	}
	w.now = w.timer.at
	return w.fire("the clock", w.system, w.timer.event)
}

// inOrder runs the acts of a story until one fails.
func inOrder(acts ...func() error) error {
	for _, act := range acts {
		if err := act(); err != nil {
			return err
		}
	}
	return nil
}
