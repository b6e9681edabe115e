package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// Read implements store.Store. It runs one statement, so it reads one snapshot.
func (s *Store) Read(ctx context.Context, q store.Read) (store.Page, error) {
	if err := s.current(ctx, s.pool); err != nil {
		return store.Page{}, err
	}
	page, err := s.read(ctx, q)
	if lacksColumn(err) {
		if misfit := s.misfit(ctx, nil, q.Machine, q.Tables); misfit != nil {
			return store.Page{}, misfit
		}
	}
	return page, err
}

func (s *Store) read(ctx context.Context, q store.Read) (store.Page, error) {
	var page store.Page
	sql, scanInto, err := question(q)
	if err != nil {
		return page, err
	}
	rows, err := s.pool.Query(ctx, sql.sql.String(), sql.args...)
	if err != nil {
		return page, wrap("read "+string(q.Kind), err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := scanInto(&page, rows); err != nil {
			return page, wrap("read "+string(q.Kind), err)
		}
	}
	return page, wrap("read "+string(q.Kind), rows.Err())
}

// question returns the statement for q, and how to read a row of its answer.
func question(q store.Read) (statement, func(*store.Page, pgx.Rows) error, error) {
	switch q.Kind {
	case store.ReadRecord, store.ReadRecords:
		return readRecords(q), func(p *store.Page, rows pgx.Rows) error {
			p.Records = append(p.Records, scanRecord(rows, q.Machine, q.ID, q.Blank()))
			return nil
		}, nil
	case store.ReadHistory:
		return readHistory(q), func(p *store.Page, rows pgx.Rows) error {
			h, err := scanHistory(rows)
			p.History = append(p.History, h)
			return err
		}, nil
	case store.ReadUnknown:
		return readUnknown(q), func(p *store.Page, rows pgx.Rows) error {
			var u store.UnknownWork
			err := rows.Scan(&u.Kind, &u.Machine, &u.Name, &u.State, &u.Record, &u.Count)
			p.Unknown = append(p.Unknown, u)
			return err
		}, nil
	case store.ReadBacklog:
		return readBacklog(q), func(p *store.Page, rows pgx.Rows) error {
			line, err := scanBacklog(rows)
			p.Backlog = append(p.Backlog, line)
			return err
		}, nil
	case store.ReadPauses:
		return readPauses(), func(p *store.Page, rows pgx.Rows) error {
			pause, err := scanPause(rows)
			p.Pauses = append(p.Pauses, pause)
			return err
		}, nil
	case store.ReadDeadLetters, store.ReadMessage:
		return readMessages(q), func(p *store.Page, rows pgx.Rows) error {
			l, err := scanMessage(rows)
			p.Messages = append(p.Messages, l)
			return err
		}, nil
	}
	return statement{}, nil, fmt.Errorf("store.Read.Kind is %q, which this store does not know", q.Kind)
}

func readRecords(q store.Read) (s statement) {
	id := quoted(q.Tables.ID)
	s.write("%s WHERE true", selectRecords(q.Tables))
	if q.Kind == store.ReadRecord {
		s.write(" AND %s = %s", id, s.param(q.IDValue))
		return s
	}
	if q.State != "" {
		s.write(" AND %s = %s", quoted(q.Tables.State), s.param(q.State))
	}
	if q.After != nil {
		s.write(" AND %s > %s", id, s.param(q.After))
	}
	s.write(" ORDER BY %s LIMIT %s", id, s.param(q.Limit))
	return s
}

func readHistory(q store.Read) (s statement) {
	t := q.Tables
	s.write("SELECT h.event_id, h.version, h.transition, h.%s, h.event_type, h.%s, h.actor_role, h.actor_id::text, h.payload, h.correlation_id, h.created_at, f.who, f.why FROM %s AS h",
		quoted(t.From), quoted(t.To), quoted(t.History))
	s.write(" LEFT JOIN fsm_forced AS f ON f.machine = %s AND f.record_id = %s AND f.version = h.version", s.param(q.Machine), s.param(q.ID))
	s.write(" WHERE h.%s = %s AND h.version > %s ORDER BY h.version LIMIT %s", quoted(t.ID), s.param(q.IDValue), s.param(q.AfterVersion), s.param(q.Limit))
	return s
}

func scanHistory(rows pgx.Rows) (h store.HistoryRow, err error) {
	var payload []byte
	var forced store.Forced
	err = scan(rows, fsm.Into(&h.EventID), &h.Version, &h.Transition, text{&h.From}, &h.Event, &h.To,
		text{&h.By.Role}, text{&h.By.ID}, &payload, text{&h.Correlation}, instant(&h.At), text{&forced.Who}, text{&forced.Why})
	if forced != (store.Forced{}) {
		h.Forced = &forced
	}
	h.Payload = payload
	return h, err
}

func readMessages(q store.Read) (s statement) {
	s.write("SELECT %s FROM fsm_outbox", messageColumns)
	if q.Kind == store.ReadMessage {
		s.write(" WHERE message_id = %s", s.param(q.MessageID))
		return s
	}
	s.write(" WHERE state = 'dead_letter' AND NOT cancelled AND discarded_at IS NULL")
	f := q.Filter
	for _, column := range []struct{ name, value string }{
		{"machine", f.Machine}, {"record_id", f.Record}, {"effect", f.Effect}, {"destination", f.Destination},
	} {
		if column.value != "" {
			s.write(" AND %s = %s", column.name, s.param(column.value))
		}
	}
	if f.Error != "" {
		s.write(" AND strpos(last_error, %s) > 0", s.param(f.Error))
	}
	if !f.Before.IsZero() {
		s.write(" AND created_at < %s", s.param(f.Before))
	}
	if a := q.AfterMessage; a != nil {
		s.write(" AND (created_at, version, seq, message_id) > (%s)", s.params([]any{a.CreatedAt, a.Version, a.Seq, a.MessageID}))
	}
	s.write(" ORDER BY created_at, version, seq, message_id LIMIT %s", s.param(q.Limit))
	return s
}

// readUnknown counts what is due of the machines and is not among what is known.
func readUnknown(q store.Read) (s statement) {
	machines, effects := pairs(q.Destinations, effectsOf)
	owners, states := pairs(q.Destinations, statesOf)
	s.unknown(store.TaskEffect, "effect", "fsm_outbox WHERE NOT parked AND due_at <= "+s.param(q.Now), machines, effects, owners, states)
	s.write(" UNION ALL ")
	machines, events := pairs(q.Events, eventsOf)
	owners, states = pairs(q.Events, statesOfEvents)
	s.unknown(store.TaskDeadline, "event", "fsm_deadlines WHERE claim_at <= "+s.param(q.Now), machines, events, owners, states)
	s.write(" ORDER BY 1, 2, 3, 4 LIMIT %s", s.param(q.Limit))
	return s
}

// unknown counts the rows of a kind whose name, or the state of whose record, is not
// among what is known.
func (q *statement) unknown(kind store.TaskKind, name, due string, machines, names, owners, states []string) {
	machine := q.param(machines)
	q.write(`SELECT %s, machine, name, state, min(record_id), count(*) FROM (
		SELECT machine, %s AS name, record_id, CASE WHEN record_state IS NULL OR (machine, record_state) IN (SELECT * FROM unnest(%s::text[], %s::text[])) THEN '' ELSE record_state END AS state
		FROM %s AND machine = ANY(%s::text[])) AS due
		WHERE state <> '' OR (machine, name) NOT IN (SELECT * FROM unnest(%s::text[], %s::text[]))
		GROUP BY machine, name, state`,
		literal(string(kind)), name, q.param(owners), q.param(states), due, machine, machine, q.param(names))
}
