package registration

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/client"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

const machine = registration.MachineName

// querier runs statements of either database. Parameters
// are written $1, which both take; times are bound and read in UTC.
type querier interface {
	exec(ctx context.Context, statement string, args ...any) (changed int64, err error)
	query(ctx context.Context, each func(scan scan) error, statement string, args ...any) error
}

// scan reads the columns of the present row.
type scan func(into ...any) error

// transaction is one in which rows and records change together.
type transaction interface {
	querier
	// calls fire events in the transaction.
	calls() registration.Calls
	// try keeps what f decides when it returns nil, and forgets it otherwise.
	try(f func() error) error
	// write writes a row beside a record that was created or fired at.
	write(id string, row fsm.TableWrite) error
}

// durable is the engine with its database, whichever that is.
type durable interface {
	// within runs f in one transaction: all of it is kept, or none.
	within(ctx context.Context, f func(context.Context, transaction) error) error
	// read runs questions, each in a snapshot of its own; f may run again.
	read(ctx context.Context, f func(querier) error) error
	// inline has an effect carried out within transactions: see engine.Inline.
	inline(effect string, f func(context.Context, querier, []fsm.Dispatch) ([]*fsm.Event, error)) error
	// rows opens the registry that is in the same database.
	rows(clock engine.Clock) Registry
	// sets is what is done for many registrations in one transaction.
	sets() sets
	dialect() string
	migrate(ctx context.Context) error
	close() error

	records() records
	RequeueAll(ctx context.Context, f engine.Filter, who, why string) (engine.Bulk, error)
	Run(ctx context.Context) error
}

// records are those of the machine: a *registration.Client of any transaction.
type records interface {
	Fire(ctx context.Context, id fsm.UUID, event registration.Payload, with ...engine.Option) (outcome, error)
	Get(ctx context.Context, id fsm.UUID) (client.Snapshot[*registration.Record], error)
	All(ctx context.Context, state registration.State) iter.Seq2[client.Snapshot[*registration.Record], error]
	History(ctx context.Context, id fsm.UUID, after int64, limit int) ([]client.Taken[registration.State, registration.Payload], error)
}

type outcome = client.Outcome[*registration.Record]

// core is a durable over transactions of type Tx.
type core[Tx any] struct {
	*engine.Engine[Tx]
	speak    func(Tx) querier
	database database
	shut     func() error
}

func (c *core[Tx]) rows(clock engine.Clock) Registry { return &registry{c.database, clock} }

func (c *core[Tx]) records() records { return registration.In(c.Engine) }

func (c *core[Tx]) dialect() string { return c.database.dialect() }

func (c *core[Tx]) sets() sets { return c.database }

func (c *core[Tx]) read(ctx context.Context, f func(querier) error) error {
	return c.database.once(ctx, f)
}

func (c *core[Tx]) inline(effect string, f func(context.Context, querier, []fsm.Dispatch) ([]*fsm.Event, error)) error {
	return c.Inline(machine, effect, func(ctx context.Context, tx Tx, effects []fsm.Dispatch) ([]*fsm.Event, error) {
		return f(ctx, c.speak(tx), effects)
	})
}

func (c *core[Tx]) close() error { return c.shut() }

func (c *core[Tx]) within(ctx context.Context, f func(context.Context, transaction) error) error {
	return c.Transact(ctx, func(ctx context.Context, u *engine.Tx[Tx]) error { return f(ctx, unit[Tx]{c.speak(u.Tx), u}) })
}

func (c *core[Tx]) migrate(ctx context.Context) error {
	if err := c.Migrate(ctx); err != nil {
		return err
	}
	return c.within(ctx, func(ctx context.Context, t transaction) error { return migrate(ctx, t, c.dialect()) })
}

// unit is a transaction of the engine's.
type unit[Tx any] struct {
	querier
	of *engine.Tx[Tx]
}

func (u unit[Tx]) calls() registration.Calls { return registration.Within(u.of) }

func (u unit[Tx]) try(f func() error) error { return u.of.Try(f) }

func (u unit[Tx]) write(id string, row fsm.TableWrite) error { return u.of.Write(machine, id, row) }

// pgQuerier speaks to PostgreSQL, in a transaction or without.
type pgQuerier struct {
	tx interface {
		Exec(ctx context.Context, statement string, args ...any) (pgconn.CommandTag, error)
		Query(ctx context.Context, statement string, args ...any) (pgx.Rows, error)
	}
}

func (q pgQuerier) exec(ctx context.Context, statement string, args ...any) (int64, error) {
	tag, err := q.tx.Exec(ctx, statement, args...)
	return tag.RowsAffected(), err
}

func (q pgQuerier) query(ctx context.Context, each func(scan) error, statement string, args ...any) error {
	rows, err := q.tx.Query(ctx, statement, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// liteQuerier speaks to SQLite, where a time is text.
type liteQuerier struct{ tx *sql.Tx }

func (q liteQuerier) exec(ctx context.Context, statement string, args ...any) (int64, error) {
	result, err := q.tx.ExecContext(ctx, statement, bound(args)...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (q liteQuerier) query(ctx context.Context, each func(scan) error, statement string, args ...any) error {
	rows, err := q.tx.QueryContext(ctx, statement, bound(args)...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // what Err returns is what counts
	for rows.Next() {
		err := each(func(into ...any) error {
			for i, dest := range into {
				if t, ok := dest.(*time.Time); ok {
					into[i] = fsm.Into(t)
				}
			}
			return rows.Scan(into...)
		})
		if err != nil {
			return err
		}
	}
	return rows.Err()
}

func bound(args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		if t, ok := a.(time.Time); ok {
			a = fsm.Instant(t).Format(fsm.TimeLayout)
		}
		out[i] = a
	}
	return out
}

// one reads one row; found is false where there is none.
func one(ctx context.Context, q querier, statement string, args []any, into ...any) (found bool, err error) {
	err = q.query(ctx, func(scan scan) error {
		found = true
		return scan(into...)
	}, statement, args...)
	if err != nil {
		return false, fmt.Errorf("look up: %w", err)
	}
	return found, nil
}
