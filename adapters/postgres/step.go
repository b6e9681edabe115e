package postgres

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// steps queues the locks of records without steps, and then the steps of a wave:
// the first of each commit, the second, and so on.
func (p *pipeline) steps(wave []*store.Commit) {
	if along(wave) {
		p.step(wave[0], &wave[0].Steps[0], collect(wave, outboxOf))
		return
	}
	for _, c := range wave {
		if len(c.Steps) == 0 && c.Expect > 0 {
			p.add(subject{commit: c, expected: c.Expect}, p.texts.of(c.Tables, expect), c.IDValue, c.Expect)
		}
	}
	for level := 0; ; level++ {
		var steps []*store.Commit // that have so many
		for _, c := range wave {
			if len(c.Steps) > level {
				steps = append(steps, c)
			}
		}
		if len(steps) == 0 {
			return
		}
		for _, c := range p.manySteps(steps, level) {
			p.step(c, &c.Steps[level], nil)
		}
	}
}

// step queues one step with the effects that go along with it.
func (p *pipeline) step(c *store.Commit, s *store.StepWrite, messages []*store.OutboxMessage) {
	values := s.Record.Values()
	w := stepShape{form: insertion, messages: len(messages), held: len(messages) > 0 && messages[0].Lease != nil}
	if s.Version > 1 {
		w.form, w.columns = formOf(s), s.Changed(values)
	} else {
		w.columns = everyColumn(c.Tables)
	}
	sql, columns := p.texts.step(c.Tables, w)
	args := make([]any, 0, atColumns+len(columns)+len(leaseFields)+len(messages)*len(messageFields))
	args = stepArgs(args, c, s, values, columns)
	if len(messages) > 0 {
		args = append(args, c.Machine)
		if l := messages[0].Lease; l != nil {
			args = append(args, l.Token.String(), l.Until, nullable(l.Worker))
		}
		args = argsOf(args, messageFields, messages)
	}
	p.add(subject{commit: c, expected: s.Version - 1}, sql, args...)
}

// formOf is how a step of a record that exists is written.
func formOf(s *store.StepWrite) form {
	if s.Entered {
		return move
	}
	return stay
}

// The parameters of a step: these, and then the columns that it writes.
const (
	atVersion = 1 + iota
	atEvent
	atTime
	atKey
	atFrom
	atEventID
	atTo
	atTransition
	atRole
	atActor
	atPayload
	atCorrelation
	atColumns
)

func stepArgs(args []any, c *store.Commit, s *store.StepWrite, values []any, columns []int) []any {
	args = append(args, s.Version, s.Event, s.At, c.IDValue, nullable(s.From), s.EventID.String(), s.To, s.Transition,
		nullable(s.By.Role), nullable(s.By.ID), nullable(s.Payload), nullable(s.Correlation))
	for _, i := range columns {
		args = append(args, values[i])
	}
	return args
}

// insertionText creates a record with its first history row:
//
//	WITH r AS (INSERT INTO deals (version, last_event, entered_at, created_at, updated_at, deal_id, status, …)
//		VALUES ($1, $2, $3, $3, $3, $4, $13, …) RETURNING 1),
//	o AS (INSERT INTO fsm_outbox (…) SELECT $20, … FROM r, (VALUES …) AS m)
//	INSERT INTO deal_events (…) SELECT $1, … FROM r
func insertionText(t fsm.Tables, w stepShape) string {
	return fmt.Sprintf("WITH r AS (INSERT INTO %s (version, last_event, entered_at, created_at, updated_at, %s) VALUES ($%d, $%d, $%[5]d, $%[5]d, $%[5]d, $%d, %s) RETURNING 1)%s\n%s",
		quoted(t.Record), quotedAll(t.Columns), atVersion, atEvent, atTime, atKey, places("$", atColumns, len(t.Columns)-1), w.alongText(), historyText(t, "$", "r"))
}

// changeText moves a record on if it is where it was read:
//
//	WITH r AS (UPDATE deals SET version = $1, last_event = $2, updated_at = $3, entered_at = $3, status = $13, …
//		WHERE deal_id = $4 AND status = $5 AND version = $1::bigint - 1 RETURNING 1),
//	h AS (INSERT INTO deal_events (…) SELECT $1, … FROM r),
//	o AS (INSERT INTO fsm_outbox (…) SELECT $15, … FROM r, (VALUES …) AS m)
//	SELECT fsm_conflict('deals', 'deal_id', 'status', $4::text) WHERE NOT EXISTS (SELECT FROM r)
func changeText(t fsm.Tables, w stepShape) string {
	return fmt.Sprintf("WITH r AS (UPDATE %s SET %s WHERE %s = $%d AND %s = $%d AND version = $%d::bigint - 1 RETURNING 1),\nh AS (%s)%s\n%s",
		quoted(t.Record), assignments(t, w.form == move, "$", w.columns), quoted(t.ID), atKey, quoted(t.State), atFrom, atVersion,
		historyText(t, "$", "r"), w.alongText(), fenceText(t, atKey))
}

// alongText inserts the effects that go along with a step.
func (w stepShape) alongText() string {
	if w.messages == 0 {
		return ""
	}
	return ",\no AS (" + messagesText(atColumns+len(w.columns), w) + ")"
}

// assignments is what an UPDATE sets. Its values are stepArgs, called prefix and
// a number.
func assignments(t fsm.Tables, entered bool, prefix string, columns []int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "version = %[1]s%[2]d, last_event = %[1]s%[3]d, updated_at = %[1]s%[4]d", prefix, atVersion, atEvent, atTime)
	if entered {
		fmt.Fprintf(&b, ", entered_at = %s%d", prefix, atTime)
	}
	for n, i := range columns {
		fmt.Fprintf(&b, ", %s = %s%d", quoted(t.Columns[i]), prefix, atColumns+n)
	}
	return b.String()
}

// expectText locks the record, which must be at a version.
func expectText(t fsm.Tables) string {
	return fmt.Sprintf("WITH r AS (SELECT 1 FROM %s WHERE %s = $1 AND version = $2 FOR NO KEY UPDATE)\n%s",
		quoted(t.Record), quoted(t.ID), fenceText(t, 1))
}

// historyText inserts a history row for each row of from. Its values are the
// first of stepArgs, called prefix and a number.
func historyText(t fsm.Tables, prefix, from string) string {
	columns := historyColumns(t)
	return fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s", quoted(t.History), quotedAll(columns), places(prefix, atVersion, len(columns)), from)
}

// historyColumns are those of the first parameters of a step, in their order.
func historyColumns(t fsm.Tables) []string {
	return []string{
		"version", "event_type", "created_at", t.ID, t.From, "event_id", t.To, "transition",
		"actor_role", "actor_id", "payload", "correlation_id",
	}
}

// fenceText fails the statement if r found nothing; $key is the id.
func fenceText(t fsm.Tables, key int) string {
	return fmt.Sprintf("SELECT fsm_conflict(%s, %s, %s, $%d::text) WHERE NOT EXISTS (SELECT FROM r)",
		literal(t.Record), literal(t.ID), literal(t.State), key)
}

// places lists n names, prefix and a number from first on: parameters where it
// is "$".
func places(prefix string, first, n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = prefix + strconv.Itoa(first+i)
	}
	return strings.Join(list, ", ")
}

// literal returns an SQL string.
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
