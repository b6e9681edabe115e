package attacks

import (
	"fmt"
	"strings"
)

// offered is a legal step of the record draft, offer the history row that tells it.
const (
	offered = `UPDATE deals SET version = version + 1, last_event = 'SUBMIT_OFFER', status = 'OFFER_PENDING' WHERE deal_id = {draft}`
	offer   = `'2', 'SUBMIT_OFFER', 'DRAFT', 'OFFER_PENDING', 'submit_offer', 'advertiser', 7, '2026-03-01T12:00:00.000000Z'`
)

// told inserts a history row of a deal: version, event, from, to, transition, role,
// actor, time.
func told(record, values string) string {
	return fmt.Sprintf(`INSERT INTO deal_events (event_id, deal_id, version, event_type, from_status, to_status, transition, actor_role, actor_id, created_at)
		VALUES ('10000000-0000-4000-8000-000000000001', {%s}, %s)`, record, strings.Replace(values, "'2'", "2", 1))
}

// lie is offer with something else in the place of a part.
func lie(name, part, other, by string) Attack {
	return Attack{Name: name, On: History, Refused: by, SQL: []string{offered, told("draft", strings.Replace(offer, part, other, 1))}}
}

// historyAttacks are on the history tables.
func historyAttacks() []Attack {
	return []Attack{
		{
			Name: "a legal step is told by hand", On: History,
			Free: "who may write both tables may take a step as the engine does", SQL: []string{offered, told("draft", offer)},
		},
		{Name: "a step is not told", On: History, Postgres: []string{offered}},
		{
			Name: "a step is not told, and the next one is taken", On: History, Refused: "history",
			Postgres: []string{offered, `UPDATE deals SET version = 3, last_event = 'ACCEPT', status = 'ACCEPTED' WHERE deal_id = {draft}`},
			SQLite:   []string{offered, `UPDATE deals SET version = 3, last_event = 'ACCEPT', status = 'ACCEPTED' WHERE deal_id = {draft}`},
		},
		{
			Name: "the last step is not told in a file", On: History, SQLite: []string{offered},
			Free: "a foreign key says so, and this connection has none; the record moves no further",
		},
		{Name: "a step that did not happen", On: History, Refused: "history", SQL: []string{told("draft", offer)}},
		lie("a step is told from another state", "'DRAFT'", "'OFFER_PENDING'", "history"),
		lie("a step is told as a creation", "'DRAFT'", "NULL", "history"),
		lie("a step is told to another state", "'OFFER_PENDING'", "'CANCELLED'", "history"),
		lie("a step is told by another event", "'SUBMIT_OFFER'", "'CANCEL'", "history"),
		lie("a step is told by another transition", "'submit_offer'", "'cancel_draft'", "history"),
		lie("a step is told by no transition", "'submit_offer'", "'by_hand'", "history"),
		lie("a step is told by a role that may not", "'advertiser'", "'owner'", "history"),
		lie("a step is told by no role", "'advertiser'", "NULL", "history"),
		lie("a step is told by another advertiser", ", 7,", ", 9,", "history"),
		lie("a step is told earlier", "2026-03-01T12", "2026-03-01T11", "history"),
		lie("a step is told later", "2026-03-01T12", "2026-03-02T12", "history"),
		{
			Name: "a step is told for ever", On: History,
			Postgres: []string{offered, told("draft", strings.Replace(offer, "2026-03-01T12:00:00.000000Z", "infinity", 1))},
		},
		{
			Name: "a step is taken for ever", On: History,
			Postgres: []string{strings.Replace(offered, " WHERE", ", entered_at = 'infinity', updated_at = 'infinity' WHERE", 1)},
		},
		{Name: "a step is told twice", On: History, SQL: []string{offered, told("draft", offer), told("draft", offer)}},
		{
			Name: "a step is told twice at different times", On: History,
			SQL: []string{offered, told("draft", offer), told("draft", strings.Replace(offer, "T12", "T13", 1))},
		},
		{Name: "a step of long ago is told again", On: History, SQL: []string{
			told("funded", `1, 'CREATE', NULL, 'DRAFT', 'create', 'advertiser', 7, '2026-03-01T12:00:00.000000Z'`),
		}},
		{Name: "a step of a stranger", On: History, SQL: []string{strings.Replace(told("draft", offer), "{draft}", "'99999999-0000-4000-8000-000000000001'", 1)}},
		{Name: "history is edited", On: History, Refused: "history", SQL: []string{`UPDATE deal_events SET actor_id = 9 WHERE deal_id = {funded}`}},
		{Name: "history is moved in time", On: History, Refused: "history", SQL: []string{`UPDATE deal_events SET created_at = '2026-04-01T12:00:00.000000Z'`}},
		{Name: "history is given to another record", On: History, Refused: "history", SQL: []string{`UPDATE deal_events SET deal_id = {draft} WHERE deal_id = {funded} AND version > 1`}},
		{Name: "history is deleted", On: History, Refused: "history", SQL: []string{`DELETE FROM deal_events WHERE deal_id = {funded}`}},
		{Name: "history is truncated", On: History, Postgres: []string{`TRUNCATE deal_events`}},
		{Name: "a partition of history is truncated", On: History, Postgres: []string{`TRUNCATE deal_events_default`}},
		{Name: "a partition of history is edited", On: History, Postgres: []string{`UPDATE deal_events_default SET actor_id = 9`}},
		{Name: "history goes into its partition", On: History, Refused: "history", Postgres: []string{
			strings.Replace(told("draft", offer), "deal_events", "deal_events_default", 1),
		}},
	}
}
