package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

const (
	selectMessage = "SELECT " + outboxColumns + " FROM fsm_outbox WHERE message_id = ?"
	// deadLetters has the filter ?1 to ?6, each null for all rows, the position ?7 to ?10 after
	// which to begin, null for the start, and the limit ?11.
	deadLetters = "SELECT " + outboxColumns + ` FROM fsm_outbox
		WHERE state = 'dead_letter' AND cancelled = 0 AND discarded_at IS NULL
			AND (?1 IS NULL OR machine = ?1) AND (?2 IS NULL OR record_id = ?2) AND (?3 IS NULL OR effect = ?3) AND (?4 IS NULL OR destination = ?4)
			AND (?5 IS NULL OR instr(last_error, ?5) > 0) AND (?6 IS NULL OR created_at < ?6)
			AND (?7 IS NULL OR (created_at, version, seq, message_id) > (?7, ?8, ?9, ?10))
		ORDER BY created_at, version, seq, message_id
		LIMIT ?11`
)

// Read implements store.Store. It does not wait for the transaction that writes. It runs one
// statement, so it reads one snapshot.
func (s *Store) Read(ctx context.Context, q store.Read) (store.Page, error) {
	if err := s.current(ctx, s.readers); err != nil {
		return store.Page{}, err
	}
	page, err := s.read(ctx, q)
	if err != nil {
		return store.Page{}, unfit(ctx, s.readers, q.Machine, q.Tables, fmt.Sprintf("read %s of %s %s", q.Kind, q.Machine, q.ID), err)
	}
	return page, nil
}

func (s *Store) read(ctx context.Context, q store.Read) (store.Page, error) {
	var p store.Page
	record := func(c *cells) { p.Records = append(p.Records, readRecord(c, q.Machine, q.Blank())) }
	history := func(c *cells) { p.History = append(p.History, readHistory(c)) }
	outbox := func(c *cells) {
		r, _ := readOutbox(c) // with the columns that could be read
		p.Messages = append(p.Messages, r)
	}
	ask := func(f func(*cells), query string, args ...any) (store.Page, error) {
		err := each(ctx, s.readers, f, query, args...)
		return p, err
	}
	switch q.Kind {
	case store.ReadRecord:
		return ask(record, s.statementsOf(q.Tables).load, q.IDValue)
	case store.ReadRecords:
		query, args := s.statementsOf(q.Tables).page(q)
		return ask(record, query, args...)
	case store.ReadHistory:
		return ask(history, s.statementsOf(q.Tables).history, q.Machine, q.ID, q.IDValue, q.AfterVersion, q.Limit)
	case store.ReadDeadLetters:
		return ask(outbox, deadLetters, deadLetterValues(q)...)
	case store.ReadMessage:
		return ask(outbox, selectMessage, q.MessageID)
	case store.ReadBacklog:
		values, err := backlogValues(q)
		if err != nil {
			return p, err
		}
		return ask(func(c *cells) { p.Backlog = append(p.Backlog, readBacklog(c)) }, backlog, values...)
	case store.ReadPauses:
		return ask(func(c *cells) { p.Pauses = append(p.Pauses, readPause(c)) }, selectPauses)
	case store.ReadUnknown:
		known, err := json.Marshal(knownTo(q))
		if err != nil {
			return p, err
		}
		return ask(func(c *cells) {
			p.Unknown = append(p.Unknown, store.UnknownWork{
				Kind: store.TaskKind(c.text()), Machine: c.text(), Name: c.text(), State: c.text(), Record: c.text(), Count: c.int(),
			})
		}, unknownWork, string(known), instant(q.Now), q.Limit)
	}
	return p, fmt.Errorf("store.Read.Kind is %q, which this store does not know", q.Kind)
}

// deadLetterValues returns the parameters of deadLetters.
func deadLetterValues(q store.Read) []any {
	f := q.Filter
	values := []any{null(f.Machine), null(f.Record), null(f.Effect), null(f.Destination), null(f.Error), nil, nil, nil, nil, nil, q.Limit}
	if !f.Before.IsZero() {
		values[5] = instant(f.Before)
	}
	if a := q.AfterMessage; a != nil {
		copy(values[6:], []any{instant(a.CreatedAt), a.Version, a.Seq, a.MessageID})
	}
	return values
}

// readHistory reads a row of a history.
func readHistory(c *cells) store.HistoryRow {
	var h store.HistoryRow
	c.into(&h.EventID)
	h.Version, h.Transition, h.From, h.Event, h.To = c.int(), c.text(), c.text(), c.text(), c.text()
	h.By = fsm.Caller{Role: c.text(), ID: c.text()}
	h.Payload, h.Correlation, h.At = c.json(), c.text(), c.time()
	if f := (store.Forced{Who: c.text(), Why: c.text()}); f != (store.Forced{}) {
		h.Forced = &f
	}
	return h
}

// unknownWork counts the due work at time ?2 of the machines in the list ?1 that the list does not
// contain, in at most ?3 groups.
const unknownWork = `WITH known AS (SELECT value ->> 'kind' AS kind, value ->> 'machine' AS machine, value ->> 'name' AS name FROM json_each(?1)),
	due AS (
		SELECT 'effect' AS kind, machine, effect AS name, record_state, record_id FROM fsm_outbox
			WHERE parked = 0 AND cancelled = 0 AND state IN ('pending', 'retry_wait', 'delivering') AND coalesce(lease_until, available_at) <= ?2
				AND machine IN (SELECT machine FROM known WHERE kind = 'effect')
		UNION ALL
		SELECT 'deadline', machine, event, record_state, record_id FROM fsm_deadlines
			WHERE max(due_at, coalesce(lease_until, due_at)) <= ?2
				AND machine IN (SELECT machine FROM known WHERE kind = 'deadline')
	), checked AS (
		SELECT kind, machine, name, record_id, CASE
			WHEN record_state IS NULL OR (machine, record_state) IN (SELECT machine, name FROM known WHERE kind = 'state') THEN ''
			ELSE record_state END AS state
		FROM due
	)
	SELECT kind, machine, name, state, min(record_id), count(*) FROM checked
	WHERE state <> '' OR (kind, machine, name) NOT IN (SELECT kind, machine, name FROM known)
	GROUP BY kind, machine, name, state
	ORDER BY 1, 2, 3, 4 LIMIT ?3`

// work is an effect, the event of a deadline or a state of a machine.
type work struct {
	Kind    store.TaskKind `json:"kind"`
	Machine string         `json:"machine"`
	Name    string         `json:"name"`
}

// knownTo returns the effects, events and states of a Read.
func knownTo(q store.Read) (known []work) {
	add := func(kind store.TaskKind, machine string, names []string) {
		for _, name := range names {
			known = append(known, work{kind, machine, name})
		}
	}
	for _, l := range q.Destinations {
		add(store.TaskEffect, l.Machine, l.Effects)
		add("state", l.Machine, l.States)
	}
	for _, e := range q.Events {
		add(store.TaskDeadline, e.Machine, e.Names)
		add("state", e.Machine, e.States)
	}
	return known
}
