package facts

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Facts are all facts of some machines.
type Facts struct {
	Records   []Record
	Steps     []Step // by machine, record and version
	Messages  []Message
	Deadlines []Deadline
	Keys      []Key
	Traces    []Trace
}

// Record is a record of a machine.
type Record struct {
	Machine, ID, State string
	Version            int64
}

// Step is a row of a history.
type Step struct {
	Machine, Record      string
	Version              int64
	Transition           string
	From, Event, To      string // From: "" for a creation
	By                   fsm.Caller
	Payload, Correlation string
	At                   time.Time
}

// Effect identifies an effect of a step.
type Effect struct {
	Machine, Record string
	Version         int64
	Name            string
}

// Message is a row of the outbox.
type Message struct {
	ID string
	Effect
	Seq                             int64
	Destination, State              string
	Payload, Correlation, LastError string
	Attempts                        int64
	Cut                             int64 // attempts that ended without an outcome
	Work, Cancelled, Discarded      bool
	Leased, Parked                  bool
	AvailableAt, LeaseUntil         time.Time // zero: none
}

// Deadline is a deadline of a record.
type Deadline struct {
	Machine, Record, Kind, Event string
	Payload, Correlation         string
	Version                      int64
	DueAt, LeaseUntil            time.Time // LeaseUntil: zero for none
}

// Key is a consumed idempotency key.
type Key struct {
	Machine, Name, Record, Event string
	Version                      int64
}

// Machine is what has to be known of a machine to read its facts.
type Machine interface {
	Name() string
	Tables() fsm.Tables
}

// Read reads all facts of the machines.
func Read[M Machine](ctx context.Context, db *sql.DB, machines []M) (f Facts, err error) {
	for _, m := range machines {
		records, err := Records(ctx, db, m)
		if err != nil {
			return f, err
		}
		steps, err := Steps(ctx, db, m)
		if err != nil {
			return f, err
		}
		f.Records, f.Steps = append(f.Records, records...), append(f.Steps, steps...)
	}
	if f.Messages, err = Messages(ctx, db); err != nil {
		return f, err
	}
	if f.Deadlines, err = Deadlines(ctx, db); err != nil {
		return f, err
	}
	if f.Keys, err = Keys(ctx, db); err != nil {
		return f, err
	}
	f.Traces, err = Traces(ctx, db)
	return f, err
}

// Records reads the records of a machine, by id.
func Records(ctx context.Context, db *sql.DB, m Machine) ([]Record, error) {
	t := m.Tables()
	query := fmt.Sprintf(`SELECT CAST("%s" AS text), "%s", version FROM "%s" ORDER BY 1`, t.ID, t.State, t.Record)
	return list(ctx, db, query, func(r *Row) Record {
		return Record{Machine: m.Name(), ID: r.Text(), State: r.Text(), Version: r.Int()}
	})
}

// Steps reads the histories of a machine, by record and version.
func Steps(ctx context.Context, db *sql.DB, m Machine) ([]Step, error) {
	t := m.Tables()
	query := fmt.Sprintf(`SELECT CAST("%s" AS text), version, transition, "%s", event_type, "%s", actor_role, CAST(actor_id AS text),
		payload, correlation_id, created_at FROM "%s" ORDER BY 1, 2`, t.ID, t.From, t.To, t.History)
	return list(ctx, db, query, func(r *Row) Step {
		return Step{
			Machine: m.Name(), Record: r.Text(), Version: r.Int(), Transition: r.Text(), From: r.Text(), Event: r.Text(), To: r.Text(),
			By: fsm.Caller{Role: r.Text(), ID: r.Text()}, Payload: r.Text(), Correlation: r.Text(), At: r.Time(),
		}
	})
}

// Messages reads the outbox, by the ids of the messages.
func Messages(ctx context.Context, db *sql.DB) ([]Message, error) {
	return list(ctx, db, `SELECT message_id, machine, record_id, version, effect, seq, destination, state, payload, correlation, last_error, attempts, cut,
		work, cancelled, discarded_at, lease_token, parked, available_at, lease_until FROM fsm_outbox ORDER BY message_id`, func(r *Row) Message {
		return Message{
			ID: r.Text(), Effect: Effect{Machine: r.Text(), Record: r.Text(), Version: r.Int(), Name: r.Text()}, Seq: r.Int(),
			Destination: r.Text(), State: r.Text(), Payload: r.Text(), Correlation: r.Text(), LastError: r.Text(), Attempts: r.Int(), Cut: r.Int(),
			Work: r.Bool(), Cancelled: r.Bool(), Discarded: r.Present(), Leased: r.Present(), Parked: r.Bool(),
			AvailableAt: r.Time(), LeaseUntil: r.Time(),
		}
	})
}

// Deadlines reads the deadlines, by machine, record and kind.
func Deadlines(ctx context.Context, db *sql.DB) ([]Deadline, error) {
	return list(ctx, db, `SELECT machine, record_id, kind, event, payload, correlation, version, due_at, lease_until FROM fsm_deadlines
		ORDER BY machine, record_id, kind`, func(r *Row) Deadline {
		return Deadline{
			Machine: r.Text(), Record: r.Text(), Kind: r.Text(), Event: r.Text(), Payload: r.Text(), Correlation: r.Text(),
			Version: r.Int(), DueAt: r.Time(), LeaseUntil: r.Time(),
		}
	})
}

// Keys reads the consumed keys, by machine and name.
func Keys(ctx context.Context, db *sql.DB) ([]Key, error) {
	return list(ctx, db, "SELECT machine, key, record_id, event, version FROM fsm_keys ORDER BY machine, key", func(r *Row) Key {
		return Key{Machine: r.Text(), Name: r.Text(), Record: r.Text(), Event: r.Text(), Version: r.Int()}
	})
}
