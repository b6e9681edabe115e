-- A message is written twice or more: as a step asks for it, and as it ends.
-- PostgreSQL parses the CHECKs and the generated columns of a table anew for
-- each statement, which took a third of both writes, but keeps the plan of a
-- function. So a trigger derives the columns, and one CHECK asks a function.
-- The function raises under the names that the CHECKs had.

ALTER TABLE fsm_outbox
    ALTER COLUMN due_at DROP EXPRESSION,
    ALTER COLUMN open DROP EXPRESSION,
    DROP CONSTRAINT fsm_outbox_attempts_range,
    DROP CONSTRAINT fsm_outbox_state_declared,
    DROP CONSTRAINT fsm_outbox_waiting_is_due,
    DROP CONSTRAINT fsm_outbox_delivering_is_leased,
    DROP CONSTRAINT fsm_outbox_delivered_says_when;

-- Whatever a statement says of these columns is overridden.
CREATE FUNCTION fsm_outbox_derive() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    -- when a worker may take it: a waiting row from available_at on, a claimed
    -- one once its lease is over; null: never
    NEW.due_at := CASE
        WHEN NEW.cancelled THEN NULL
        WHEN NEW.state IN ('pending', 'retry_wait') THEN NEW.available_at
        WHEN NEW.state = 'delivering' THEN NEW.lease_until
    END;
    -- whether it may stand in the way of its lane; a cancelled attempt does
    -- until it ends
    NEW.open := NEW.state <> 'delivered' AND NEW.discarded_at IS NULL AND (NOT NEW.cancelled OR NEW.state = 'delivering');
    RETURN NEW;
END;
$$;

CREATE TRIGGER fsm_outbox_derive BEFORE INSERT OR UPDATE ON fsm_outbox
    FOR EACH ROW EXECUTE FUNCTION fsm_outbox_derive();

CREATE FUNCTION fsm_outbox_rules(r fsm_outbox) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF NOT (r.attempts >= 0) THEN
        RAISE EXCEPTION 'fsmgen: message %: fsm_outbox_attempts_range: attempts is %, not >= 0', r.message_id, r.attempts
            USING ERRCODE = 'check_violation', TABLE = 'fsm_outbox', CONSTRAINT = 'fsm_outbox_attempts_range',
                HINT = 'Attempts are counted from 0.';
    END IF;
    IF NOT (r.state IN ('pending', 'delivering', 'delivered', 'retry_wait', 'dead_letter')) THEN
        RAISE EXCEPTION 'fsmgen: message %: fsm_outbox_state_declared: state is %, which is not declared', r.message_id, r.state
            USING ERRCODE = 'check_violation', TABLE = 'fsm_outbox', CONSTRAINT = 'fsm_outbox_state_declared',
                HINT = 'Declared are pending, delivering, delivered, retry_wait, dead_letter.';
    END IF;
    IF NOT (r.state NOT IN ('pending', 'retry_wait') OR r.available_at IS NOT NULL) THEN
        RAISE EXCEPTION 'fsmgen: message %: fsm_outbox_waiting_is_due: % demands available_at', r.message_id, r.state
            USING ERRCODE = 'check_violation', TABLE = 'fsm_outbox', CONSTRAINT = 'fsm_outbox_waiting_is_due',
                HINT = 'Say when a worker may take it.';
    END IF;
    IF NOT ((r.state = 'delivering') = (r.lease_token IS NOT NULL) AND (r.state = 'delivering') = (r.lease_until IS NOT NULL)) THEN
        RAISE EXCEPTION 'fsmgen: message %: fsm_outbox_delivering_is_leased: state is %, lease_token is %, lease_until is %',
            r.message_id, r.state, r.lease_token, r.lease_until
            USING ERRCODE = 'check_violation', TABLE = 'fsm_outbox', CONSTRAINT = 'fsm_outbox_delivering_is_leased',
                HINT = 'A message has a lease while it is delivering, and only then.';
    END IF;
    IF NOT (r.state <> 'delivered' OR r.delivered_at IS NOT NULL) THEN
        RAISE EXCEPTION 'fsmgen: message %: fsm_outbox_delivered_says_when: delivered demands delivered_at', r.message_id
            USING ERRCODE = 'check_violation', TABLE = 'fsm_outbox', CONSTRAINT = 'fsm_outbox_delivered_says_when',
                HINT = 'Say when it was delivered.';
    END IF;
    -- The trigger sees to these two; a row that it did not see might never be
    -- delivered, or stop its lane.
    IF r.due_at IS DISTINCT FROM (CASE
            WHEN r.cancelled THEN NULL
            WHEN r.state IN ('pending', 'retry_wait') THEN r.available_at
            WHEN r.state = 'delivering' THEN r.lease_until
        END) THEN
        RAISE EXCEPTION 'fsmgen: message %: fsm_outbox_due_at_derived: due_at is %', r.message_id, r.due_at
            USING ERRCODE = 'check_violation', TABLE = 'fsm_outbox', CONSTRAINT = 'fsm_outbox_due_at_derived',
                HINT = 'Switch the trigger fsm_outbox_derive on.';
    END IF;
    IF r.open IS DISTINCT FROM (r.state <> 'delivered' AND r.discarded_at IS NULL AND (NOT r.cancelled OR r.state = 'delivering')) THEN
        RAISE EXCEPTION 'fsmgen: message %: fsm_outbox_open_derived: open is %', r.message_id, r.open
            USING ERRCODE = 'check_violation', TABLE = 'fsm_outbox', CONSTRAINT = 'fsm_outbox_open_derived',
                HINT = 'Switch the trigger fsm_outbox_derive on.';
    END IF;
    RETURN true;
END;
$$;

ALTER TABLE fsm_outbox ADD CONSTRAINT fsm_outbox_rules
    CHECK (fsm_outbox_rules(fsm_outbox));
