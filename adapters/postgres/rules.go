package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// What every trigger function of the engine's tables begins with: it finds pg_catalog
// first, whatever the search path of the session. Tables are named with their schema.
const guarded = " LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS "

// The prefixes of the names of a machine's functions. The name of the machine follows.
const (
	messageRule  = "fsm_message_"
	deadlineRule = "fsm_deadline_"
	keyRule      = "fsm_key_"
)

// longestMachine is the longest name of a machine, in bytes, that fits these names.
const longestMachine = 63 - len(deadlineRule)

// writeRules creates the functions that check rows of the engine's tables. Those of each machine
// accept only rows that its steps ask for. The trigger functions call those of all machines of the
// schema. writeRules writes nothing if the functions exist, so that a role that does not own them
// can call Migrate.
func (s *Store) writeRules(ctx context.Context, tx pgx.Tx, machines []store.Machine) error {
	there, err := s.functions(ctx, tx)
	if err != nil {
		return err
	}
	for _, m := range machines {
		rules, err := s.rulesOf(ctx, tx, store.RowRulesOf(m))
		if err != nil {
			return fmt.Errorf("machine %s: %w", m.Name(), err)
		}
		for _, f := range rules {
			if err := f.write(ctx, tx, there, store.RowRulesOf(m).Replace); err != nil {
				return fmt.Errorf("machine %s: %w", m.Name(), err)
			}
		}
	}
	var known []string
	for name := range there {
		if machine, ok := strings.CutPrefix(name, messageRule); ok {
			known = append(known, machine)
		}
	}
	slices.Sort(known)
	for _, f := range s.causes(known) {
		if err := f.write(ctx, tx, there, func(there, with string) bool { return there != with }); err != nil {
			return err
		}
	}
	return nil
}

// functions returns the bodies of the engine's functions by their names.
func (s *Store) functions(ctx context.Context, tx pgx.Tx) (map[string]string, error) {
	rows, err := tx.Query(ctx, "SELECT proname::text, prosrc FROM pg_proc WHERE pronamespace = $1::regnamespace AND starts_with(proname, 'fsm_')", quoted(s.schema))
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	var name, body string
	_, err = pgx.ForEachRow(rows, []any{&name, &body}, func() error {
		found[name] = body
		return nil
	})
	return found, err
}

// function is one of the schema's.
type function struct{ name, declare, body string }

// write creates the function. If one with its name exists, it replaces that if replace returns true.
func (f function) write(ctx context.Context, tx pgx.Tx, there map[string]string, replace func(there, with string) bool) error {
	if text, ok := there[f.name]; ok && !replace(text, f.body) {
		return nil
	}
	there[f.name] = f.body
	if err := script(ctx, tx, f.declare+literal(f.body)); err != nil {
		return fmt.Errorf("function %s: %w", f.name, err)
	}
	return nil
}

// rulesOf returns the functions of one machine. Each returns null for a row that a step of its record
// asks for, and else the reason of the refusal.
func (s *Store) rulesOf(ctx context.Context, tx pgx.Tx, r store.RowRules) ([]function, error) {
	if len(r.Machine) > longestMachine {
		return nil, fmt.Errorf("its name is longer than %d bytes, the limit for names of functions in PostgreSQL: choose a shorter one", longestMachine)
	}
	types, err := typesIn(ctx, tx, r.Tables.Record)
	if err != nil {
		return nil, err
	}
	b := ruleBuilder{schema: quoted(s.schema), RowRules: r, idType: types[r.Tables.ID]}
	return []function{b.message(), b.deadline(), b.key()}, nil
}

// ruleBuilder writes the functions of a machine.
type ruleBuilder struct {
	store.RowRules
	schema, idType string
}

// function returns a function with the parameters in.
func (b ruleBuilder) function(prefix, in, variables, body string) function {
	name := prefix + b.Machine
	return function{
		name:    name,
		declare: fmt.Sprintf("CREATE OR REPLACE FUNCTION %s.%s(%s) RETURNS text LANGUAGE plpgsql AS ", b.schema, quoted(name), in),
		body:    b.Heading() + variables + "BEGIN\n" + body + "END;\n",
	}
}

// id returns the id of a row's record, converted to the type of the record table.
func (b ruleBuilder) id(of string) string { return of + ".record_id::" + b.idType }

// spelled returns the condition that an id has the engine's spelling. Another spelling would be
// another record to the engine.
func (b ruleBuilder) spelled(of string) string {
	if b.idType == "text" {
		return "true"
	}
	return fmt.Sprintf("%s::text = %s.record_id", b.id(of), of)
}

// elsewhere returns the statement that refuses another spelling of the id.
func (b ruleBuilder) elsewhere(of string) string {
	if b.idType == "text" {
		return ""
	}
	return fmt.Sprintf("    IF NOT (%s) THEN\n        RETURN 'the id is not spelled as the engine does';\n    END IF;\n", b.spelled(of))
}

// message returns the function that checks a message by the history row of its step. The id of the
// message is derived from that row and its seq, so no step has it twice (see identity in
// runtime/engine). One expression checks the whole message, because in each transaction the server
// prepares every expression that it evaluates. The expressions behind it find the reason of a
// refusal.
func (b ruleBuilder) message() function {
	t := b.Tables
	var effects, asked, sent []string
	payloads := map[string][]string{} // effects by the name of an id in their payload
	for _, rule := range b.Messages {
		info := rule.Effect
		effects = append(effects, info.Name)
		sent = append(sent, fmt.Sprintf("%s %s %s %t", info.Name, info.Destination, info.Delivery, info.Work))
		for _, at := range rule.Sources {
			asked = append(asked, fmt.Sprintf("%d %s %s %s %s", at.Seq, at.Transition, at.From, at.Event, info.Name))
		}
		for _, name := range info.RecordIDs {
			payloads[name] = append(payloads[name], info.Name)
		}
	}
	isAsked := "m.seq || ' ' || step || ' ' || m.effect IN (" + oneOf(asked) + ")"
	isSent := "m.effect || ' ' || m.destination || ' ' || m.delivery || ' ' || m.work::text IN (" + oneOf(sent) + ")"
	isAbout := "true"
	for _, name := range slices.Sorted(maps.Keys(payloads)) {
		isAbout += fmt.Sprintf("\n            AND (m.effect NOT IN (%s) OR COALESCE(m.payload ->> %s = m.record_id, false))", oneOf(payloads[name]), literal(name))
	}
	body := fmt.Sprintf(`    SELECT h.transition || ' ' || COALESCE(h.%s, '') || ' ' || h.event_type,
        sha256(convert_to('7:message36:' || h.event_id || length(m.seq::text) || ':' || m.seq, 'UTF8')) INTO step, place
    FROM %s.%s AS h WHERE h.%s = %s AND h.version = m.version AND h.created_at = m.created_at AND (h.%s = m.record_state) IS NOT FALSE;
    IF %s AND %s
        AND m.message_id = encode(set_byte(set_byte(substr(place, 1, 16), 6, get_byte(place, 6) & 15 | 128), 8, get_byte(place, 8) & 63 | 128), 'hex')::uuid
        AND %s
        AND %s THEN
        RETURN NULL;
    END IF;
`, quoted(t.From), b.schema, quoted(t.History), quoted(t.ID), b.id("m"), quoted(t.To), b.spelled("m"), isAsked, isSent, isAbout)
	body += b.elsewhere("m")
	for _, because := range [][2]string{
		{"step IS NULL", "'no step led to that version at that time, and to that state'"},
		{"m.effect NOT IN (" + oneOf(effects) + ")", "'there is no such effect'"}, // also of a machine without any
		{"NOT (" + isAsked + ")", "'the step ' || step || ' does not ask for it at that place'"},
		{"NOT (" + isSent + ")", "'destination, delivery or work are not those of the effect'"},
		{"NOT (" + isAbout + ")", "'the id in its payload is another record''s'"},
	} {
		body += fmt.Sprintf("    IF %s THEN\n        RETURN %s;\n    END IF;\n", because[0], because[1])
	}
	body += "    RETURN 'its id is not that of its place';\n"
	return b.function(messageRule, "m "+b.schema+".fsm_outbox", "DECLARE\n    step text;\n    place bytea;\n", body)
}

// deadline returns the function that checks a deadline by its record.
func (b ruleBuilder) deadline() function {
	t := b.Tables
	legal := []string{"false"}
	for _, timeout := range b.Timeouts {
		legal = append(legal, fmt.Sprintf("d.kind = 'timeout' AND d.event = %s AND here.state = %s", literal(timeout.Event), literal(timeout.State)))
	}
	if len(b.Raises) > 0 {
		legal = append(legal, fmt.Sprintf("d.kind = 'raise' AND d.version = here.version AND d.event IN (%s)", literals(b.Raises)))
	}
	body := b.elsewhere("d") + fmt.Sprintf(`    SELECT r.version, r.%s AS state INTO here FROM %s.%s AS r WHERE r.%s = %s;
    IF gone THEN
        IF here.version = d.version THEN
            RETURN 'the record has not left the state, and no worker claimed it';
        END IF;
        RETURN NULL;
    END IF;
    IF here.version IS NULL OR d.version < 1 OR d.version > here.version OR d.record_state <> here.state THEN
        RETURN 'no step led to that version, and to that state';
    END IF;
    IF NOT (%s) THEN
        RETURN 'the record in ' || here.state || ' does not set it';
    END IF;
    RETURN NULL;
`, quoted(t.State), b.schema, quoted(t.Record), quoted(t.ID), b.id("d"), strings.Join(legal, "\n        OR "))
	return b.function(deadlineRule, "d "+b.schema+".fsm_deadlines, gone boolean", "DECLARE\n    here record;\n", body)
}

// key returns the function that checks an idempotency key by the history row of its event. The key
// has the version after the last step of its call. In a chain of steps the history row of the event
// is earlier.
func (b ruleBuilder) key() function {
	t := b.Tables
	from := fmt.Sprintf("%s.%s AS h WHERE h.%s = %s AND h.created_at = k.created_at", b.schema, quoted(t.History), quoted(t.ID), b.id("k"))
	body := b.elsewhere("k") + fmt.Sprintf(`    IF EXISTS (SELECT FROM %[1]s AND h.version = k.version AND h.event_type = k.event) THEN
        RETURN NULL;
    END IF;
`, from)
	if len(b.Raises) > 0 {
		body += fmt.Sprintf(`    IF EXISTS (SELECT FROM %[1]s AND h.version = k.version)
        AND EXISTS (SELECT FROM %[1]s AND h.version < k.version AND h.event_type = k.event) THEN
        RETURN NULL;
    END IF;
`, from)
	}
	body += "    RETURN 'no step by that event led to that version at that time';\n"
	return b.function(keyRule, "k "+b.schema+".fsm_keys", "", body)
}

// oneOf returns the list of an IN. It begins with the empty text, which no row has, because the list
// must not be empty.
func oneOf(list []string) string { return literals(append([]string{""}, list...)) }

// literals returns a list of SQL strings.
func literals(list []string) string { return strings.Join(column(list, literal), ", ") }
