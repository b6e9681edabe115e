package database

import (
	"context"
	"iter"

	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/client"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Records are the records of the machine: a *registration.Client of any transaction.
type Records interface {
	Fire(ctx context.Context, id fsm.UUID, event registration.Payload, with ...engine.Option) (Outcome, error)
	Get(ctx context.Context, id fsm.UUID) (client.Snapshot[*registration.Record], error)
	All(ctx context.Context, state registration.State) iter.Seq2[client.Snapshot[*registration.Record], error]
	History(ctx context.Context, id fsm.UUID, after int64, limit int) ([]client.Taken[registration.State, registration.Payload], error)
}

// Outcome is what an event led to.
type Outcome = client.Outcome[*registration.Record]

// Tx is a transaction in which records and rows change together.
type Tx interface {
	// Calls fire events in the transaction.
	Calls() registration.Calls
	// Try keeps what f decides when it returns nil, and forgets it otherwise.
	Try(f func() error) error
	// Assign notes which daemon answers for a registration that was created in the transaction.
	Assign(registrationID, daemon string) error
}

// InlineFunc carries out effects of one kind within the transaction that asks for
// them: see engine.Inline.
type InlineFunc = func(ctx context.Context, tx InlineTx, effects []fsm.Dispatch) ([]*fsm.Event, error)

// durable is the engine on either database.
type durable interface {
	Run(ctx context.Context) error
	RequeueAll(ctx context.Context, f engine.Filter, who, why string) (engine.Bulk, error)
	Migrate(ctx context.Context) error
	records() Records
	transact(ctx context.Context, f func(context.Context, transaction) error) error
	inline(effect string, f InlineFunc) error
}

// transaction is a Tx that runs statements too.
type transaction interface {
	Tx
	querier
}

// core is a durable over transactions of type T.
type core[T any] struct {
	*engine.Engine[T]
	speak   func(T) querier
	dialect dialect
}

func (c *core[T]) records() Records { return registration.In(c.Engine) }

func (c *core[T]) inline(effect string, f InlineFunc) error {
	return c.Inline(registration.MachineName, effect, func(ctx context.Context, tx T, effects []fsm.Dispatch) ([]*fsm.Event, error) {
		return f(ctx, InlineTx{c.speak(tx), c.dialect}, effects)
	})
}

func (c *core[T]) transact(ctx context.Context, f func(context.Context, transaction) error) error {
	return c.Transact(ctx, func(ctx context.Context, tx *engine.Tx[T]) error { return f(ctx, engineTx[T]{c.speak(tx.Tx), tx}) })
}

// engineTx is a transaction of the engine's.
type engineTx[T any] struct {
	querier
	of *engine.Tx[T]
}

func (t engineTx[T]) Calls() registration.Calls { return registration.Within(t.of) }

func (t engineTx[T]) Try(f func() error) error { return t.of.Try(f) }

func (t engineTx[T]) Assign(registrationID, daemon string) error {
	return t.of.Write(registration.MachineName, registrationID, fsm.TableWrite{
		Table: "registration_daemons", Op: fsm.EffectUpsert,
		Key:     []fsm.Column{{Name: "registration_id", Value: registrationID}},
		Columns: []fsm.Column{{Name: "daemon", Value: daemon}},
	})
}
