package enginetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Fake is a generated machine whose effects are carried out by functions of a test.
// Define the machine without handlers:
//
//	deals := enginetest.NewFake(t, deal.Define[*sql.Tx](nil, deal.DefaultParams()))
//
// Without a function, an effect that answers nothing succeeds, and one that has to
// answer fails the test. Fake is safe for concurrent use.
type Fake[Tx any] struct {
	engine.Machine[Tx]
	t       testing.TB
	mu      sync.Mutex
	handle  map[string]Handler
	query   map[string]QueryHandler
	calls   []fsm.Dispatch
	queries []fsm.Dispatch
}

// Handler carries out an effect. It returns the event that the effect answers with, nil
// for none. The answer of an effect inside a transaction is not taken.
type Handler func(fsm.Dispatch) (fsm.Payload, error)

// QueryHandler says whether a queryable effect has happened, and with which answer.
type QueryHandler func(fsm.Dispatch) (answer fsm.Payload, done bool, err error)

// NewFake returns m with fake handlers. The handlers that m was defined with are never
// called.
func NewFake[Tx any](t testing.TB, m engine.Machine[Tx]) *Fake[Tx] {
	t.Helper()
	return &Fake[Tx]{Machine: m, t: t, handle: map[string]Handler{}, query: map[string]QueryHandler{}}
}

// Answer is a handler that succeeds with an event, nil for none.
func Answer(p fsm.Payload) Handler {
	return func(fsm.Dispatch) (fsm.Payload, error) { return p, nil }
}

// Fail is a handler that fails. In an [engine.PermanentError] it is not repeated.
func Fail(err error) Handler { return func(fsm.Dispatch) (fsm.Payload, error) { return nil, err } }

// On makes h carry out an effect from now on; nil takes it back. It stops the test if
// the machine has no such effect.
func (f *Fake[Tx]) On(effect string, h Handler) {
	f.t.Helper()
	f.must(effect)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.handle[effect] = h
}

// OnQuery makes h answer whether an effect has happened; nil takes it back. Without a
// function the answer is that it has not. OnQuery stops the test if the machine has no
// such effect.
func (f *Fake[Tx]) OnQuery(effect string, h QueryHandler) {
	f.t.Helper()
	f.must(effect)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.query[effect] = h
}

// Calls returns the dispatches of an effect, "" for all effects, in their order: every
// attempt is one. Queries are not among them.
func (f *Fake[Tx]) Calls(effect string) []fsm.Dispatch {
	f.mu.Lock()
	defer f.mu.Unlock()
	return of(f.calls, effect)
}

// Queries returns the queries after an effect, "" for all effects, in their order.
func (f *Fake[Tx]) Queries(effect string) []fsm.Dispatch {
	f.mu.Lock()
	defer f.mu.Unlock()
	return of(f.queries, effect)
}

func of(list []fsm.Dispatch, effect string) []fsm.Dispatch {
	return slices.DeleteFunc(slices.Clone(list), func(d fsm.Dispatch) bool { return effect != "" && d.Effect != effect })
}

// HandleTx records the dispatch and calls the function of the test.
func (f *Fake[Tx]) HandleTx(_ context.Context, _ Tx, d fsm.Dispatch) error {
	if h := f.called(d); h != nil {
		_, err := h(d)
		return err
	}
	return nil
}

// Handle records the dispatch and calls the function of the test.
func (f *Fake[Tx]) Handle(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
	h := f.called(d)
	if h == nil {
		return nil, f.unanswered(d.Effect)
	}
	answer, err := h(d)
	if err != nil {
		return nil, err
	}
	return eventOf(answer)
}

// Query records the dispatch and calls the function of the test.
func (f *Fake[Tx]) Query(_ context.Context, d fsm.Dispatch) (*fsm.Event, bool, error) {
	f.mu.Lock()
	f.queries = append(f.queries, d)
	h := f.query[d.Effect]
	f.mu.Unlock()
	if h == nil {
		return nil, false, nil
	}
	answer, done, err := h(d)
	if err != nil || !done {
		return nil, false, err
	}
	event, err := eventOf(answer)
	return event, err == nil, err
}

func (f *Fake[Tx]) called(d fsm.Dispatch) Handler {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, d)
	return f.handle[d.Effect]
}

// unanswered fails the test if the effect has to answer.
func (f *Fake[Tx]) unanswered(effect string) error {
	i := f.find(effect)
	if i < 0 || !f.Effects()[i].Work {
		return nil
	}
	err := fmt.Errorf("effect %s of machine %s has to answer: call On(%q, ...) before it is due", effect, f.Name(), effect)
	f.t.Error(err)
	return &engine.PermanentError{Err: err}
}

func (f *Fake[Tx]) must(effect string) {
	f.t.Helper()
	if f.find(effect) < 0 {
		var names []string
		for _, e := range f.Effects() {
			names = append(names, e.Name)
		}
		f.t.Fatalf("machine %s has no effect %s; it has %v", f.Name(), effect, names)
	}
}

func (f *Fake[Tx]) find(effect string) int {
	return slices.IndexFunc(f.Effects(), func(e fsm.EffectInfo) bool { return e.Name == effect })
}

func eventOf(p fsm.Payload) (*fsm.Event, error) {
	if p == nil {
		return nil, nil
	}
	e, err := fsm.EventOf(p)
	if err != nil {
		return nil, err
	}
	return &e, nil
}
