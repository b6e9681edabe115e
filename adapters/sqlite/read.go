package sqlite

import (
	"context"
	"fmt"

	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

const (
	letter = "SELECT " + outboxColumns + " FROM fsm_outbox WHERE message_id = ?"
	// ?1 machine or null, ?2 record or null, ?3 at most.
	deadLetters = "SELECT " + outboxColumns + ` FROM fsm_outbox
		WHERE state = 'dead_letter' AND cancelled = 0 AND discarded_at IS NULL
			AND (?1 IS NULL OR machine = ?1) AND (?2 IS NULL OR record_id = ?2)
		ORDER BY created_at, version, seq
		LIMIT ?3`
)

// Read answers a question, beside the transaction that writes. Each question is
// one statement, and so one snapshot.
func (s *Store) Read(ctx context.Context, q engine.Read) (engine.Page, error) {
	if err := s.current(ctx, s.readers); err != nil {
		return engine.Page{}, err
	}
	page, err := s.read(ctx, q)
	if err != nil {
		return engine.Page{}, unfit(ctx, s.readers, q.Machine, q.Tables, fmt.Sprintf("read %s of %s %s", q.Kind, q.Machine, q.ID), err)
	}
	return page, nil
}

func (s *Store) read(ctx context.Context, q engine.Read) (engine.Page, error) {
	var p engine.Page
	record := func(c *cells) { p.Records = append(p.Records, readRecord(c, q.Machine, q.Blank())) }
	story := func(c *cells) { p.History = append(p.History, readHistory(c)) }
	outbox := func(c *cells) {
		r, _ := readOutbox(c) // as much as could be read
		p.Letters = append(p.Letters, r)
	}
	ask := func(f func(*cells), query string, args ...any) (engine.Page, error) {
		err := each(ctx, s.readers, f, query, args...)
		return p, err
	}
	switch q.Kind {
	case engine.ReadRecord:
		return ask(record, s.statementsOf(q.Tables).load, q.Key)
	case engine.ReadRecords:
		query, args := s.statementsOf(q.Tables).page(q)
		return ask(record, query, args...)
	case engine.ReadHistory:
		return ask(story, s.statementsOf(q.Tables).history, q.Key, q.AfterVersion, q.Limit)
	case engine.ReadDeadLetters:
		return ask(outbox, deadLetters, null(q.Machine), null(q.ID), q.Limit)
	case engine.ReadLetter:
		return ask(outbox, letter, q.MessageID)
	}
	return p, fmt.Errorf("there is no kind %q", q.Kind)
}

// readHistory reads a row of a history.
func readHistory(c *cells) engine.HistoryRow {
	var h engine.HistoryRow
	c.into(&h.EventID)
	h.Version, h.Transition, h.From, h.Event, h.To = c.int(), c.text(), c.text(), c.text(), c.text()
	h.By = fsm.Caller{Role: c.text(), ID: c.text()}
	h.Payload, h.Correlation, h.At = c.json(), c.text(), c.time()
	return h
}
