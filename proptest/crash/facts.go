package crash

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// facts are what the database holds, read without the engine.
type facts struct {
	records   map[string]map[string]recordRow // by machine and id
	history   []historyRow                    // by machine, id and version
	outbox    []outboxRow                     // by machine, id, version and sequence
	deadlines []deadlineRow
	keys      []keyRow
	markers   []markerRow
	leases    []leaseRow
}

type recordRow struct {
	state   string
	version int64
}

type historyRow struct {
	machine, id          string
	version              int64
	transition           string
	from, event, to, tag string
}

type outboxRow struct {
	message, machine, id    string
	version                 int64
	effect, destination     string
	work, cancelled, leased bool
	state                   string
	payload, tag, cause     string // cause: of the last failure
	attempts                int
	leaseUntil              time.Time
}

type deadlineRow struct {
	machine, id, kind, event, tag string
	due                           time.Time
}

type keyRow struct {
	machine, key, id, event string
	version                 int64
}

type markerRow struct {
	tag, machine, id string
	version          int64
	effect, message  string
}

type leaseRow struct {
	message, worker string
	cancelled       bool
}

// createMarkerTables creates the table in which transaction effects leave a row, and the
// one in which the database records leases. They have no keys, so that a duplicate row
// can be seen.
func createMarkerTables(ctx context.Context, db *sql.DB, watch []string) error {
	for _, statement := range append([]string{
		`CREATE TABLE crash_markers (
			scenario text NOT NULL, machine text NOT NULL, record_id text NOT NULL, version bigint NOT NULL, effect text NOT NULL, message_id text NOT NULL)`,
		`CREATE TABLE crash_leases (message_id text NOT NULL, worker text NOT NULL, cancelled boolean NOT NULL)`,
	}, watch...) {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// readFacts reads all facts.
func readFacts(ctx context.Context, db *sql.DB, all machines) (*facts, error) {
	f := &facts{records: map[string]map[string]recordRow{}}
	for _, m := range all {
		if err := f.readMachine(ctx, db, m.Name(), m.Tables().Record, m.Tables().History, m.Tables().ID, m.Tables().State, m.Tables().From, m.Tables().To); err != nil {
			return nil, fmt.Errorf("read %s: %w", m.Name(), err)
		}
	}
	if err := f.readEngine(ctx, db); err != nil {
		return nil, fmt.Errorf("read the engine's tables: %w", err)
	}
	return f, nil
}

func (f *facts) readMachine(ctx context.Context, db *sql.DB, machine, record, history, id, state, from, to string) error {
	records := map[string]recordRow{}
	f.records[machine] = records
	err := scan(ctx, db, fmt.Sprintf(`SELECT CAST("%s" AS text), "%s", version FROM "%s"`, id, state, record), func(rows *sql.Rows) error {
		var key string
		var r recordRow
		err := rows.Scan(&key, &r.state, &r.version)
		records[key] = r
		return err
	})
	if err != nil {
		return err
	}
	query := fmt.Sprintf(`SELECT CAST("%s" AS text), version, transition, COALESCE("%s", ''), event_type, "%s", COALESCE(correlation_id, '')
		FROM "%s" ORDER BY 1, 2`, id, from, to, history)
	return scan(ctx, db, query, func(rows *sql.Rows) error {
		h := historyRow{machine: machine}
		err := rows.Scan(&h.id, &h.version, &h.transition, &h.from, &h.event, &h.to, &h.tag)
		f.history = append(f.history, h)
		return err
	})
}

func (f *facts) readEngine(ctx context.Context, db *sql.DB) error {
	err := scan(ctx, db, `SELECT CAST(message_id AS text), machine, record_id, version, effect, lane,
			CAST(work AS text) IN ('1', 'true'), CAST(cancelled AS text) IN ('1', 'true'), lease_token IS NOT NULL, CAST(lease_until AS text), state,
			CAST(payload AS text), COALESCE(correlation, ''), COALESCE(last_error, ''), attempts
		FROM fsm_outbox ORDER BY machine, record_id, version, seq`, func(rows *sql.Rows) error {
		var o outboxRow
		var until sql.NullString
		err := rows.Scan(&o.message, &o.machine, &o.id, &o.version, &o.effect, &o.destination, &o.work, &o.cancelled, &o.leased, &until, &o.state, &o.payload, &o.tag, &o.cause, &o.attempts)
		if err == nil && until.Valid {
			o.leaseUntil, err = parseTime(until.String)
		}
		f.outbox = append(f.outbox, o)
		return err
	})
	if err != nil {
		return err
	}
	err = scan(ctx, db, "SELECT machine, record_id, kind, event, COALESCE(correlation, ''), CAST(due_at AS text) FROM fsm_deadlines", func(rows *sql.Rows) error {
		var d deadlineRow
		var due string
		err := rows.Scan(&d.machine, &d.id, &d.kind, &d.event, &d.tag, &due)
		if err == nil {
			d.due, err = parseTime(due)
		}
		f.deadlines = append(f.deadlines, d)
		return err
	})
	if err != nil {
		return err
	}
	err = scan(ctx, db, "SELECT machine, key, record_id, event, version FROM fsm_keys", func(rows *sql.Rows) error {
		var k keyRow
		err := rows.Scan(&k.machine, &k.key, &k.id, &k.event, &k.version)
		f.keys = append(f.keys, k)
		return err
	})
	if err != nil {
		return err
	}
	err = scan(ctx, db, "SELECT message_id, worker, CAST(cancelled AS text) IN ('1', 'true') FROM crash_leases", func(rows *sql.Rows) error {
		var l leaseRow
		err := rows.Scan(&l.message, &l.worker, &l.cancelled)
		f.leases = append(f.leases, l)
		return err
	})
	if err != nil {
		return err
	}
	return scan(ctx, db, "SELECT scenario, machine, record_id, version, effect, message_id FROM crash_markers", func(rows *sql.Rows) error {
		var m markerRow
		err := rows.Scan(&m.tag, &m.machine, &m.id, &m.version, &m.effect, &m.message)
		f.markers = append(f.markers, m)
		return err
	})
}

func scan(ctx context.Context, db *sql.DB, query string, read func(*sql.Rows) error) error {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := read(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
