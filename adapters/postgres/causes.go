package postgres

import (
	"fmt"
	"strings"
)

// causes writes the trigger functions of the engine's tables, which ask the rules of
// each machine of the schema: also of machines that this process does not have.
func (s *Store) causes(machines []string) []function {
	return []function{s.outboxCause(machines), s.deadlinesCause(machines), s.keysCause(machines)}
}

// outboxCause lets a message in as a step leaves it: due or claimed for the first
// time.
func (s *Store) outboxCause(machines []string) function {
	return s.cause("fsm_outbox_cause", `DECLARE
    why text := CASE
        WHEN NOT (CASE NEW.state WHEN 'pending' THEN NEW.attempts = 0 WHEN 'delivering' THEN NEW.attempts = 1 ELSE false END)
            OR NEW.cancelled OR NEW.parked OR NEW.cut <> 0 OR COALESCE(NEW.delivered_at, NEW.discarded_at) IS NOT NULL OR COALESCE(NEW.last_error, NEW.resolution) IS NOT NULL
            THEN 'a message begins as pending or claimed once'
        ELSE `+s.ask(machines, messageRule, "NEW")+` END;
`, refusal("FS105", "fsm_outbox", "'message ' || NEW.message_id || ', ' || NEW.effect || ' of ' || NEW.machine || ' ' || NEW.record_id || ' at version ' || NEW.version"))
}

// deadlinesCause lets a step set a deadline, and clear one of an earlier step. A
// worker deletes the one that it has claimed.
func (s *Store) deadlinesCause(machines []string) function {
	return s.cause("fsm_deadlines_cause", "DECLARE\n    why text;\n    d "+quoted(s.schema)+".fsm_deadlines;\n    gone boolean := TG_OP = 'DELETE';\n", `    IF gone THEN
        IF OLD.lease_token IS NOT NULL THEN
            RETURN NULL;
        END IF;
        d := OLD;
    ELSE
        d := NEW;
        IF TG_OP = 'UPDATE' AND NEW.version <= OLD.version THEN
            why := 'only a later step changes it';
        END IF;
    END IF;
    IF why IS NULL THEN
        why := `+s.ask(machines, deadlineRule, "d", "gone")+`;
    END IF;
`+refusal("FS106", "fsm_deadlines", "'deadline ' || d.event || ' of ' || d.machine || ' ' || d.record_id || ' at version ' || d.version"))
}

func (s *Store) keysCause(machines []string) function {
	return s.cause("fsm_keys_cause", "DECLARE\n    why text := "+s.ask(machines, keyRule, "NEW")+";\n",
		refusal("FS104", "fsm_keys", "'key ' || NEW.key || ' of ' || NEW.machine || ' ' || NEW.record_id || ' at version ' || NEW.version"))
}

// cause is a trigger function.
func (s *Store) cause(name, variables, body string) function {
	return function{
		name:    name,
		declare: "CREATE OR REPLACE FUNCTION " + quoted(s.schema) + "." + name + "() RETURNS trigger" + guarded,
		body:    variables + "BEGIN\n" + body + "    RETURN NULL;\nEND;\n",
	}
}

// ask is what the rule of the row's machine says.
func (s *Store) ask(machines []string, prefix string, args ...string) string {
	var b strings.Builder
	b.WriteString("CASE " + args[0] + ".machine")
	for _, m := range machines {
		fmt.Fprintf(&b, " WHEN %s THEN %s.%s(%s)", literal(m), quoted(s.schema), quoted(prefix+m), strings.Join(args, ", "))
	}
	return b.String() + " ELSE 'no such machine was migrated' END"
}

// refusal raises what a rule says against a row.
func refusal(code, table, about string) string {
	return fmt.Sprintf(`    IF why IS NOT NULL THEN
        RAISE EXCEPTION 'fsmgen: %[2]s: %%: %%', %[3]s, why
            USING ERRCODE = '%[1]s', TABLE = '%[2]s', CONSTRAINT = '%[2]s_cause',
                HINT = 'Only the steps of a record leave rows here: fire an event.';
    END IF;
`, code, table, about)
}
