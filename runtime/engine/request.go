package engine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// request is one event on its way to a record.
type request[Tx any] struct {
	machine     *definition[Tx]
	id          string // canonical text
	key         any    // driver value of id
	event       fsm.Event
	create      bool
	by          fsm.Caller
	callKey     string
	correlation string
	now         time.Time
	notBefore   time.Time   // of a deadline: when it was due
	task        *Settlement // what ends with this event; nil: a caller fires
	known       *Row        // what a load would find, unless there is something newer; nil: not known
}

// request checks what a caller says.
func (e *Engine[Tx]) request(f Firing) (request[Tx], error) {
	m, key, err := e.machine(f.Machine, f.ID)
	if err != nil {
		return request[Tx]{}, err
	}
	if f.Event == nil {
		return request[Tx]{}, errors.New("engine: an event is needed")
	}
	event, err := fsm.EventOf(f.Event)
	if err != nil {
		return request[Tx]{}, err
	}
	r := request[Tx]{
		machine: m, id: fsm.Text(key), key: key, event: event, create: f.Create,
		by: f.Call.By, callKey: f.Call.Key, correlation: f.Call.Correlation, now: e.now(),
	}
	if r.correlation == "" {
		r.correlation = e.config.NewToken().String()
	}
	return r, e.checkSize(r)
}

// checkSize refuses a payload that is larger than the engine stores.
func (e *Engine[Tx]) checkSize(r request[Tx]) error {
	if len(r.event.Payload) <= e.config.MaxPayload {
		return nil
	}
	x := &fsm.Rejection{Machine: r.machine.Name(), Reason: fsm.ErrInvalidEvent, Event: r.event.Name, Actor: r.by.Role}
	problem := fmt.Sprintf("has %d bytes, more than the %d allowed", len(r.event.Payload), e.config.MaxPayload)
	return x.WithField("payload", problem)
}

// timedOut reports whether r is the timeout of a state.
func (r request[Tx]) timedOut() bool {
	return r.task != nil && r.task.Kind == TaskDeadline && r.task.Timer == TimerTimeout
}

// keys lists the idempotency keys that the event consumes. The prefixes keep a
// caller from using up the key of an event.
func (r request[Tx]) keys(record fsm.Record) []string {
	var keys []string
	if r.callKey != "" {
		keys = append(keys, "call:"+r.callKey)
	}
	if own, ok := r.machine.KeyOf(r.event, record); ok {
		keys = append(keys, "event:"+own)
	}
	return keys
}

// query asks for the record, the keys and the task of r.
func (r request[Tx]) query() Query {
	q := Query{
		Machine: r.machine.Name(), Tables: r.machine.tables, ID: r.id, Key: r.key,
		Into: r.machine.Blank(), Keys: r.keys(nil),
	}
	if r.task != nil {
		q.Task = &TaskRef{Kind: r.task.Kind, MessageID: r.task.MessageID, Timer: r.task.Timer, Token: r.task.Token}
	}
	return q
}

// replay returns the outcome of an earlier call with one of r's keys. A key
// that another record or another event consumed is a *KeyError.
func (r request[Tx]) replay(row Row) (Outcome, bool, error) {
	for _, k := range row.Keys {
		switch {
		case !slices.Contains(r.keys(row.Record), k.Key):
			continue
		case k.RecordID != r.id || k.Event != r.event.Name:
			return Outcome{}, false, &KeyError{Machine: k.Machine, Key: k.Key, RecordID: k.RecordID, Event: k.Event}
		}
		return Outcome{Record: row.Record, Version: k.Version, Replayed: true, Correlation: r.correlation}, true, nil
	}
	return Outcome{}, false, nil
}
