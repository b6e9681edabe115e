-- Rows of the engine stay what a step made them. What a worker or an operator
-- changes of a message follows the machine outbox; the rest is written once. Which
-- rows a step may ask for depends on the machines: Migrate writes those functions.
--
-- A function sees nothing but this schema and pg_catalog, whatever the search path
-- of its caller, and temporary tables last.

CREATE FUNCTION fsm_outbox_fixed() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'fsmgen: fsm_outbox: message %: what a step asked for never changes', OLD.message_id
        USING ERRCODE = 'FS105', TABLE = 'fsm_outbox', CONSTRAINT = 'fsm_outbox_fixed',
            HINT = 'Only state, attempts, times, errors and the lease of a message change.';
END;
$$;

CREATE TRIGGER fsm_outbox_fixed BEFORE UPDATE OF
    message_id, machine, record_id, version, seq, effect, lane, delivery, work, payload, correlation, created_at ON fsm_outbox
    FOR EACH ROW EXECUTE FUNCTION fsm_outbox_fixed();

CREATE FUNCTION fsm_outbox_move() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF (CASE
        -- the state that asked for this work is left
        WHEN NEW.cancelled <> OLD.cancelled THEN
            NEW.cancelled AND OLD.work AND OLD.open AND NEW.state = OLD.state AND NEW.attempts = OLD.attempts
            AND (NEW.available_at, NEW.delivered_at, NEW.discarded_at, NEW.last_error, NEW.resolution, NEW.lease_token, NEW.lease_until)
                IS NOT DISTINCT FROM
                (OLD.available_at, OLD.delivered_at, OLD.discarded_at, OLD.last_error, OLD.resolution, OLD.lease_token, OLD.lease_until)
        -- claimed, or its lease renewed
        WHEN NEW.state = 'delivering' THEN
            CASE
                WHEN NEW.attempts = OLD.attempts THEN NEW.lease_token = OLD.lease_token
                ELSE NEW.attempts = OLD.attempts + 1 AND OLD.state IN ('pending', 'retry_wait', 'delivering') AND NOT OLD.cancelled
            END
            AND (NEW.available_at, NEW.delivered_at, NEW.discarded_at, NEW.last_error, NEW.resolution)
                IS NOT DISTINCT FROM (OLD.available_at, OLD.delivered_at, OLD.discarded_at, OLD.last_error, OLD.resolution)
        -- the end of an attempt
        WHEN OLD.state = 'delivering' THEN
            NEW.attempts = OLD.attempts AND NEW.discarded_at IS NULL AND NEW.resolution IS NOT DISTINCT FROM OLD.resolution
            AND CASE NEW.state
                WHEN 'delivered' THEN NEW.delivered_at IS NOT NULL
                WHEN 'dead_letter' THEN NEW.delivered_at IS NULL
                WHEN 'retry_wait' THEN NEW.delivered_at IS NULL AND NEW.delivery <> 'at_most_once'
                ELSE NEW.delivered_at IS NULL AND NEW.delivery IN ('idempotent', 'keyed')
            END
        -- what an operator decides about a dead letter
        WHEN OLD.state = 'dead_letter' THEN
            NOT OLD.cancelled AND OLD.discarded_at IS NULL AND NEW.resolution IS NOT NULL AND NEW.delivered_at IS NULL
            AND NEW.last_error IS NOT DISTINCT FROM OLD.last_error
            AND CASE NEW.state
                WHEN 'pending' THEN NEW.attempts = 0 AND NEW.discarded_at IS NULL
                WHEN 'dead_letter' THEN NEW.attempts = OLD.attempts AND NEW.discarded_at IS NOT NULL
                ELSE false
            END
        ELSE false
    END) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'fsmgen: fsm_outbox: message %: the machine outbox does not lead from % to % like that', OLD.message_id, OLD.state, NEW.state
        USING ERRCODE = 'FS105', TABLE = 'fsm_outbox', CONSTRAINT = 'fsm_outbox_move',
            HINT = 'Requeue or discard a dead letter with a resolution; leave the rest to the workers.';
END;
$$;

CREATE TRIGGER fsm_outbox_move BEFORE UPDATE OF
    state, attempts, available_at, delivered_at, discarded_at, last_error, resolution, cancelled, lease_token, lease_until ON fsm_outbox
    FOR EACH ROW EXECUTE FUNCTION fsm_outbox_move();

-- Messages that are done may go, by the owner of the table and through fsm_prune.
CREATE FUNCTION fsm_outbox_stay() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'DELETE' AND NOT OLD.open AND current_setting('fsm.prune', true) = 'on'
        AND (SELECT pg_has_role(c.relowner, 'USAGE') FROM pg_class AS c WHERE c.oid = TG_RELID) THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'fsmgen: fsm_outbox: messages are not deleted'
        USING ERRCODE = 'FS105', TABLE = 'fsm_outbox', CONSTRAINT = 'fsm_outbox_stay',
            HINT = 'The owner of the table deletes old messages that are done with SELECT fsm_prune(before).';
END;
$$;

CREATE TRIGGER fsm_outbox_stay BEFORE DELETE ON fsm_outbox
    FOR EACH ROW EXECUTE FUNCTION fsm_outbox_stay();

CREATE TRIGGER fsm_outbox_truncate BEFORE TRUNCATE ON fsm_outbox
    FOR EACH STATEMENT EXECUTE FUNCTION fsm_outbox_stay();

-- fsm_prune deletes the messages that were asked for before a time and are done, and
-- returns how many.
CREATE FUNCTION fsm_prune(before timestamptz) RETURNS bigint
LANGUAGE plpgsql SET fsm.prune = 'on' AS $$
DECLARE
    gone bigint;
BEGIN
    DELETE FROM fsm_outbox WHERE NOT open AND created_at < before;
    GET DIAGNOSTICS gone = ROW_COUNT;
    RETURN gone;
END;
$$;

CREATE FUNCTION fsm_deadlines_fixed() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'fsmgen: fsm_deadlines: a deadline stays that of its record'
        USING ERRCODE = 'FS106', TABLE = 'fsm_deadlines', CONSTRAINT = 'fsm_deadlines_fixed',
            HINT = 'A step of the record sets and clears its deadline; Resume sets one that is gone.';
END;
$$;

CREATE TRIGGER fsm_deadlines_fixed BEFORE UPDATE OF machine, record_id, kind ON fsm_deadlines
    FOR EACH ROW EXECUTE FUNCTION fsm_deadlines_fixed();

CREATE TRIGGER fsm_deadlines_truncate BEFORE TRUNCATE ON fsm_deadlines
    FOR EACH STATEMENT EXECUTE FUNCTION fsm_deadlines_fixed();

-- Migrate replaces these, by functions that ask the rules of each machine.
CREATE FUNCTION fsm_outbox_cause() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE FUNCTION fsm_deadlines_cause() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE FUNCTION fsm_keys_cause() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';

-- After the statement, since the one that takes a step also inserts its history row.
CREATE TRIGGER fsm_outbox_cause AFTER INSERT ON fsm_outbox
    FOR EACH ROW EXECUTE FUNCTION fsm_outbox_cause();

CREATE TRIGGER fsm_deadlines_cause AFTER INSERT OR DELETE OR UPDATE OF version, due_at, event, payload, correlation ON fsm_deadlines
    FOR EACH ROW EXECUTE FUNCTION fsm_deadlines_cause();

CREATE TRIGGER fsm_keys_cause AFTER INSERT ON fsm_keys
    FOR EACH ROW EXECUTE FUNCTION fsm_keys_cause();

ALTER FUNCTION fsm_keys_stay() SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION fsm_lease_lost(text) SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION fsm_letter_moved(text) SET search_path = pg_catalog, pg_temp;

-- These two look into tables of this schema.
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION fsm_conflict(text, text, text, text) SET search_path = pg_catalog, %I, pg_temp', current_schema());
    EXECUTE format('ALTER FUNCTION fsm_prune(timestamptz) SET search_path = pg_catalog, %I, pg_temp', current_schema());
END;
$$;
