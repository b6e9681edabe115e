package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// request is one event to apply to a record.
type request[T any] struct {
	machine     *definition[T]
	id          string // canonical text
	idValue     any    // driver value of id
	event       fsm.Event
	create      bool
	by          fsm.Caller
	callKey     string
	ifVersion   int64 // 0: any
	correlation string
	now         time.Time
	notBefore   time.Time         // of a deadline: when it was due
	task        *store.Settlement // what ends with this event; nil: a caller fires
	forced      *Forced           // by an operator; nil: it was not
	lock        bool              // other writers wait until this is stored: one of them was first before
	known       *store.Row        // what a load would find, unless there is something newer; nil: not known
}

// request checks a caller's event.
func (e *Engine[T]) request(f Firing) (request[T], error) {
	m, key, err := e.machine(f.Machine, f.ID)
	if err != nil {
		return request[T]{}, err
	}
	if f.Event == nil {
		return request[T]{}, errors.New("engine: the event is nil")
	}
	if f.Create && f.Call.IfVersion != 0 {
		return request[T]{}, errors.New("engine: IfVersion is for a record that exists, and this call creates one: leave it out")
	}
	if _, raw := f.Event.(fsm.Event); !raw && !m.Owns(f.Event) {
		x := &fsm.Rejection{Machine: m.Name(), Reason: fsm.ErrInvalidEvent, Event: f.Event.EventName(), Actor: f.Call.By.Role}
		return request[T]{}, x.WithField("payload", fmt.Sprintf("is of type %T, which is no payload of this machine", f.Event))
	}
	event, err := fsm.EventOf(f.Event)
	if err != nil {
		return request[T]{}, err
	}
	r := request[T]{
		machine: m, id: fsm.Text(key), idValue: key, event: event, create: f.Create,
		by: f.Call.By, callKey: f.Call.IdempotencyKey, ifVersion: f.Call.IfVersion, correlation: f.Call.Correlation, now: e.now(),
	}
	if r.correlation == "" {
		r.correlation = e.config.NewToken().String()
	}
	if err := e.checkSize(r); err != nil {
		return r, err
	}
	return r, r.checkKeys(r.keys(nil))
}

// checkSize refuses a payload that is larger than the engine stores.
func (e *Engine[T]) checkSize(r request[T]) error {
	if len(r.event.Payload) <= e.config.MaxPayload {
		return nil
	}
	return r.tooLong("payload", len(r.event.Payload), e.config.MaxPayload)
}

// longestKey is how many bytes an idempotency key may have, be it a caller's or an
// event's own, and longestScopedKey with the caller that it belongs to: it is part of
// the primary key of fsm_keys, and PostgreSQL refuses index entries of about 2,700 bytes.
const (
	longestKey       = 1024
	longestScopedKey = 2048
)

// checkKeys refuses an idempotency key that is too long to be stored.
func (r request[T]) checkKeys(keys []string) error {
	if len(r.callKey) > longestKey {
		return r.tooLong("idempotency key", len(r.callKey), longestKey)
	}
	for _, key := range keys {
		own, isOwn := strings.CutPrefix(key, "event:") // see keys
		switch {
		case isOwn && len(own) > longestKey:
			return r.tooLong("idempotency key", len(own), longestKey)
		case len(key) > longestScopedKey:
			return r.tooLong("idempotency key with its caller", len(key), longestScopedKey)
		}
	}
	return nil
}

// tooLong returns the rejection of an event with a part that is too long.
func (r request[T]) tooLong(what string, bytes, allowed int) error {
	x := &fsm.Rejection{Machine: r.machine.Name(), Reason: fsm.ErrInvalidEvent, Event: r.event.Name, Actor: r.by.Role}
	return x.WithField(what, fmt.Sprintf("has %d bytes, more than the %d allowed", bytes, allowed))
}

// timedOut reports whether r is the timeout of a state.
func (r request[T]) timedOut() bool {
	return r.task != nil && r.task.Kind == store.TaskDeadline && r.task.Deadline == store.DeadlineTimeout
}

// keys returns the idempotency keys that the event uses. The prefixes keep the keys of events, and
// of different callers, apart.
func (r request[T]) keys(record fsm.Record) []string {
	var keys []string
	if r.callKey != "" {
		keys = append(keys, r.scopedKey())
	}
	if own, ok := r.machine.KeyOf(r.event, record); ok {
		keys = append(keys, "event:"+own)
	}
	return keys
}

// scopedKey is the caller's key among those of all callers.
func (r request[T]) scopedKey() string {
	return "call:" + url.QueryEscape(r.by.Role) + ":" + url.QueryEscape(r.by.ID) + ":" + r.callKey
}

// query returns the query for the record, the keys and the task of r.
func (r request[T]) query() store.Query {
	q := store.Query{
		Machine: r.machine.Name(), Tables: r.machine.tables, ID: r.id, IDValue: r.idValue,
		Into: r.machine.Blank(), IdempotencyKeys: r.keys(nil), Lock: r.lock,
	}
	if r.task != nil {
		q.Task = &store.TaskRef{Kind: r.task.Kind, MessageID: r.task.MessageID, Deadline: r.task.Deadline, Token: r.task.Token}
	}
	return q
}

// replay returns the outcome of an earlier call with one of r's keys. A key that
// another record, another event or another payload consumed is a *KeyError; but a
// creation is answered with the record that the key created, whatever id it asks for.
// An event's own key answers callers of the same role alone: to others the event is
// decided like any other.
func (r request[T]) replay(row loaded) (Outcome, bool, error) {
	for _, k := range row.IdempotencyKeys {
		var record fsm.Record
		switch {
		case !slices.Contains(r.keys(row.Record), k.Key), k.By.Role != r.by.Role:
			continue
		case k.RecordID == r.id:
			record = row.Record
		case r.create && row.holder != nil && row.holderID == k.RecordID:
			record = row.holder
		}
		if record == nil || k.Event != r.event.Name || !sameJSON(k.Payload, r.event.Payload) {
			return Outcome{}, false, &KeyError{Machine: k.Machine, Key: k.Key, RecordID: k.RecordID, Event: k.Event}
		}
		return Outcome{ID: k.RecordID, Record: record, Version: k.Version, Replayed: true, Correlation: r.correlation}, true, nil
	}
	return Outcome{}, false, nil
}

// sameJSON reports whether two payloads are equal. No payload equals an empty one.
func sameJSON(a, b json.RawMessage) bool {
	x, okX := parsed(a)
	y, okY := parsed(b)
	return okX && okY && reflect.DeepEqual(x, y)
}

// parsed reads a payload without rounding its numbers.
func parsed(text json.RawMessage) (value any, ok bool) {
	if len(text) == 0 || string(text) == "null" {
		return map[string]any{}, true
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	ok = d.Decode(&value) == nil
	return value, ok
}
