package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// The prefixes of the names of a machine's triggers. The name of the machine follows.
const (
	messageRule  = "fsm_message_"
	deadlineRule = "fsm_deadline_"
	movedRule    = "fsm_moved_"
	clearedRule  = "fsm_cleared_"
	keyRule      = "fsm_key_"
)

// writeRules creates the triggers that check rows of the engine's tables. Those of each machine
// accept only rows that its steps ask for. Those of the file refuse rows of machines that no
// program has migrated.
func writeRules(ctx context.Context, tx *sql.Tx, machines []store.Machine) error {
	for _, m := range machines {
		r, err := newRules(ctx, tx, store.RowRulesOf(m))
		if err != nil {
			return fmt.Errorf("machine %s: %w", m.Name(), err)
		}
		for _, t := range slices.Concat(r.message(), r.deadlines(), r.key()) {
			if err := t.write(ctx, tx, r.Replace); err != nil {
				return fmt.Errorf("machine %s: %w", m.Name(), err)
			}
		}
	}
	known, err := texts(ctx, tx, "SELECT substr(name, ?) FROM sqlite_schema WHERE type = 'trigger' AND substr(name, 1, ?) = ? ORDER BY name",
		len(messageRule)+1, len(messageRule), messageRule)
	if err != nil {
		return err
	}
	for _, t := range causes(known) {
		if err := t.write(ctx, tx, func(there, with string) bool { return there != with }); err != nil {
			return err
		}
	}
	return nil
}

// trigger is a trigger that refuses rows.
type trigger struct{ name, text string }

// newTrigger returns a trigger that refuses rows for which the condition when holds.
func newTrigger(name, on, when, refusal string) trigger {
	return trigger{name, fmt.Sprintf("CREATE TRIGGER %s %s\n    WHEN %s\nBEGIN\n    SELECT RAISE(ABORT, %s);\nEND", quoted(name), on, when, literal(refusal))}
}

// write creates the trigger. If one with its name exists, it replaces that if replace returns true.
func (t trigger) write(ctx context.Context, tx *sql.Tx, replace func(there, with string) bool) error {
	there, err := texts(ctx, tx, "SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND name = ?", t.name)
	if err != nil || len(there) > 0 && !replace(there[0], t.text) {
		return err
	}
	if len(there) > 0 {
		if _, err := tx.ExecContext(ctx, "DROP TRIGGER "+quoted(t.name)); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, t.text); err != nil {
		return fmt.Errorf("trigger %s: %w", t.name, err)
	}
	return nil
}

// dropRules drops the triggers of writeRules. A migration can't drop them by their names, which
// contain those of machines.
func dropRules(ctx context.Context, tx *sql.Tx) error {
	names, err := texts(ctx, tx, `SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name IN ('fsm_outbox', 'fsm_deadlines', 'fsm_keys')
		AND (name GLOB 'fsm_*_cause' OR EXISTS (SELECT 1 FROM json_each(?) AS p WHERE substr(name, 1, length(p.value)) = p.value))`,
		`["`+strings.Join([]string{messageRule, deadlineRule, movedRule, clearedRule, keyRule}, `","`)+`"]`)
	for _, name := range names {
		if _, err := tx.ExecContext(ctx, "DROP TRIGGER "+quoted(name)); err != nil {
			return err
		}
	}
	return err
}

// causes returns triggers that accept only rows of these machines, and only messages as a step
// inserts them: pending, or claimed for the first time.
func causes(machines []string) []trigger {
	unknown := "NEW.machine NOT IN (" + literals(append(machines, "")) + ")"
	return []trigger{
		newTrigger("fsm_outbox_cause", "BEFORE INSERT ON fsm_outbox", unknown+`
        OR NOT CASE NEW.state WHEN 'pending' THEN NEW.attempts = 0 WHEN 'delivering' THEN NEW.attempts = 1 ELSE 0 END
        OR NEW.cancelled OR NEW.parked OR NEW.cut <> 0 OR coalesce(NEW.delivered_at, NEW.discarded_at, NEW.last_error, NEW.resolution) IS NOT NULL`,
			"fsmgen: fsm_outbox: a message is of a migrated machine and begins as pending or claimed once"),
		newTrigger("fsm_deadlines_cause", "BEFORE INSERT ON fsm_deadlines", unknown, "fsmgen: fsm_deadlines: no such machine was migrated"),
		newTrigger("fsm_keys_cause", "BEFORE INSERT ON fsm_keys", unknown, "fsmgen: fsm_keys: no such machine was migrated"),
	}
}

// rules are the row rules of a machine with the type of its ids.
type rules struct {
	store.RowRules
	numbers bool // ids are integers
}

func newRules(ctx context.Context, tx *sql.Tx, r store.RowRules) (rules, error) {
	types, err := texts(ctx, tx, "SELECT lower(type) FROM pragma_table_xinfo(?) WHERE name = ?", r.Tables.Record, r.Tables.ID)
	return rules{RowRules: r, numbers: len(types) == 1 && strings.HasPrefix(types[0], "int")}, err
}

// of returns the condition that a table with this alias has the record of a row. The id must have
// the engine's spelling: another spelling would be another record to the engine.
func (r rules) of(alias, row string) string {
	id := alias + "." + quoted(r.Tables.ID)
	if !r.numbers {
		return fmt.Sprintf("%s = %s.record_id", id, row)
	}
	return fmt.Sprintf("%[1]s = CAST(%[2]s.record_id AS integer) AND CAST(%[1]s AS text) = %[2]s.record_id", id, row)
}

func (r rules) trigger(prefix, on, row, when, refusal string) trigger {
	return newTrigger(prefix+r.Machine, on, fmt.Sprintf("%s.machine = %s %s        AND %s", row, literal(r.Machine), r.Heading(), when), refusal)
}

// message returns the trigger that checks a message by the history row of its step.
func (r rules) message() []trigger {
	t := r.Tables
	var legal strings.Builder
	for _, rule := range r.Messages {
		info := rule.Effect
		sources := []string{""} // an IN list must not be empty
		for _, at := range rule.Sources {
			sources = append(sources, fmt.Sprintf("%d %s %s %s", at.Seq, at.Transition, at.From, at.Event))
		}
		work := "NEW.work"
		if !info.Work {
			work = "NOT NEW.work"
		}
		fmt.Fprintf(&legal, "            WHEN %s THEN NEW.destination = %s AND NEW.delivery = %s AND %s", literal(info.Name), literal(info.Destination), literal(string(info.Delivery)), work)
		for _, name := range info.RecordIDs {
			// Go reads the last of several keys that differ by case only.
			fmt.Fprintf(&legal, " AND CAST(json_extract(NEW.payload, %s) AS text) = NEW.record_id AND (SELECT count(*) FROM json_each(NEW.payload) AS k WHERE lower(k.key) = %s) = 1",
				literal(`$."`+name+`"`), literal(strings.ToLower(name)))
		}
		fmt.Fprintf(&legal, "\n                AND step IN (%s)\n", literals(sources))
	}
	legal.WriteString("            WHEN '' THEN 0\n")
	return []trigger{r.trigger(messageRule, "BEFORE INSERT ON fsm_outbox", "NEW", fmt.Sprintf(`NOT coalesce((
        SELECT CASE NEW.effect
%s        END
        FROM (SELECT NEW.seq || ' ' || h.transition || ' ' || coalesce(h.%s, '') || ' ' || h.event_type AS step
            FROM %s AS h WHERE %s AND h.version = NEW.version AND h.created_at = NEW.created_at AND coalesce(h.%s = NEW.record_state, 1))), 0)`,
		legal.String(), quoted(t.From), quoted(t.History), r.of("h", "NEW"), quoted(t.To)), "fsmgen: fsm_outbox: no step of its record asks for this message")}
}

// deadlines returns the triggers that check a deadline by its record.
func (r rules) deadlines() []trigger {
	t := r.Tables
	legal := []string{"0"}
	for _, timeout := range r.Timeouts {
		legal = append(legal, fmt.Sprintf("NEW.kind = 'timeout' AND NEW.event = %s AND r.%s = %s", literal(timeout.Event), quoted(t.State), literal(timeout.State)))
	}
	if len(r.Raises) > 0 {
		legal = append(legal, "NEW.kind = 'raise' AND NEW.version = r.version AND NEW.event IN ("+literals(r.Raises)+")")
	}
	set := fmt.Sprintf(`NOT EXISTS (
        SELECT 1 FROM %s AS r WHERE %s AND NEW.version BETWEEN 1 AND r.version AND coalesce(r.%s = NEW.record_state, 1) AND (%s))`,
		quoted(t.Record), r.of("r", "NEW"), quoted(t.State), strings.Join(legal, "\n            OR "))
	const refusal = "fsmgen: fsm_deadlines: the record does not set this deadline"
	return []trigger{
		r.trigger(deadlineRule, "BEFORE INSERT ON fsm_deadlines", "NEW", set, refusal),
		r.trigger(movedRule, "BEFORE UPDATE OF version, due_at, event, payload, record_state, correlation ON fsm_deadlines", "NEW", set, refusal),
		r.trigger(clearedRule, "BEFORE DELETE ON fsm_deadlines", "OLD", fmt.Sprintf(`OLD.lease_token IS NULL
        AND EXISTS (SELECT 1 FROM %s AS r WHERE %s AND r.version = OLD.version)`, quoted(t.Record), r.of("r", "OLD")),
			"fsmgen: fsm_deadlines: the record has not left the state, and no worker claimed the deadline"),
	}
}

// key returns the trigger that checks an idempotency key by the history row of its event. The key
// has the version after the last step of its call. In a chain of steps the history row of the event
// is earlier.
func (r rules) key() []trigger {
	from := fmt.Sprintf("SELECT 1 FROM %s AS h WHERE %s AND h.created_at = NEW.created_at AND ", quoted(r.Tables.History), r.of("h", "NEW"))
	when := "NOT EXISTS (" + from + "h.version = NEW.version AND h.event_type = NEW.event)"
	if len(r.Raises) > 0 {
		when += "\n        AND NOT (EXISTS (" + from + "h.version = NEW.version)\n            AND EXISTS (" + from + "h.version < NEW.version AND h.event_type = NEW.event))"
	}
	return []trigger{r.trigger(keyRule, "BEFORE INSERT ON fsm_keys", "NEW", when, "fsmgen: fsm_keys: no step of its record consumed this key")}
}

// literal returns an SQL string.
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// literals returns a list of SQL strings.
func literals(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = literal(s)
	}
	return strings.Join(quoted, ", ")
}
