package engine

import (
	"context"

	"github.com/fsmgen/fsmgen/runtime/client"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// What an engine and the typed client of a machine have in common is declared in package
// client. The engine knows records of any machine.
type (
	// Call has what a caller passes with an event besides its payload.
	Call = client.Call
	// Option sets a part of a Call of a typed client.
	Option = client.Option
	// Outcome is an event that was accepted.
	Outcome = client.Outcome[fsm.Record]
	// Firing is one event of a batch.
	Firing = client.Firing
	// Snapshot is a record as it was read. In lists its Err is a *CorruptError.
	Snapshot = client.Snapshot[fsm.Record]
	// HistoryRow is one transition taken: a row of the history.
	HistoryRow = client.HistoryRow
	// Forced names the operator that forced a step, and the reason.
	Forced = client.Forced
)

// What the engine keeps and reads through its store, and shows to operators, is declared in
// package store.
type (
	// Store keeps records, histories, messages, deadlines and idempotency keys. T is the
	// transaction type of its driver.
	Store[T any] = store.Store[T]
	// OutboxMessage is an effect to be delivered: a row of fsm_outbox.
	OutboxMessage = store.OutboxMessage
	// MessageState is the part of a message that changes while it is delivered.
	MessageState = store.MessageState
	// Filter narrows a list of messages.
	Filter = store.Filter
	// Scope is what a pause is about.
	Scope = store.Scope
	// Pause is a scope that an operator has paused.
	Pause = store.Pause
)

var (
	_ client.Engine[int] = (*Engine[int])(nil)
	_ client.Firer       = (*Tx[int])(nil)
)

// By is the option that names the caller. A machine with actors has functions of its own
// for that, which know its roles.
func By(caller fsm.Caller) Option { return client.By(caller) }

// Key is the option that makes firing again safe: see [Call].
func Key(key string) Option { return client.Key(key) }

// IfVersion is the option to fire only at a record of this version: see [Call].
func IfVersion(version int64) Option { return client.IfVersion(version) }

// Correlation is the option that names the whole of what the event sets off: see [Call].
func Correlation(id string) Option { return client.Correlation(id) }

// pending is what an outcome leaves to do after the commit.
type pending struct {
	tells []func(context.Context) // log lines and metrics
	wakes bool                    // it leaves something for a worker to look for
}

func (p *pending) then(tell func(context.Context)) { p.tells = append(p.tells, tell) }

// pendingOf returns what o leaves to do after the commit.
func pendingOf(o *Outcome) *pending {
	p, ok := o.Pending.(*pending)
	if !ok {
		p = &pending{}
		o.Pending = p
	}
	return p
}
