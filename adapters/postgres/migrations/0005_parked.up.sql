-- A due message that waits behind another of its lane is parked: it is not in the
-- index that claims look into, until what it waits for is closed.
ALTER TABLE fsm_outbox ADD COLUMN parked boolean NOT NULL DEFAULT false;

DROP INDEX fsm_outbox_due;
CREATE INDEX fsm_outbox_due ON fsm_outbox (machine, lane, due_at, version, seq)
    WHERE due_at IS NOT NULL AND NOT parked;

CREATE INDEX fsm_outbox_parked ON fsm_outbox (machine, record_id, lane, version, seq)
    WHERE parked;

CREATE OR REPLACE FUNCTION fsm_outbox_move() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.cancelled THEN
        NEW.parked := false;
    ELSIF NEW.parked AND NOT OLD.parked THEN
        IF NOT EXISTS (SELECT FROM fsm_outbox AS b
            WHERE b.open AND NOT b.cancelled AND b.machine = NEW.machine AND b.record_id = NEW.record_id AND b.lane = NEW.lane
                AND (b.version, b.seq) < (NEW.version, NEW.seq)) THEN
            RAISE EXCEPTION 'fsmgen: fsm_outbox: message %: nothing stands before it', OLD.message_id
                USING ERRCODE = 'FS105', TABLE = 'fsm_outbox', CONSTRAINT = 'fsm_outbox_move',
                    HINT = 'Only claims park messages.';
        END IF;
    END IF;
    IF (CASE
        -- the state that asked for this work is left
        WHEN NEW.cancelled <> OLD.cancelled THEN
            NEW.cancelled AND OLD.work AND OLD.open AND NEW.state = OLD.state AND NEW.attempts = OLD.attempts
            AND (NEW.available_at, NEW.delivered_at, NEW.discarded_at, NEW.last_error, NEW.resolution, NEW.lease_token, NEW.lease_until)
                IS NOT DISTINCT FROM
                (OLD.available_at, OLD.delivered_at, OLD.discarded_at, OLD.last_error, OLD.resolution, OLD.lease_token, OLD.lease_until)
        -- parked by a claim, or due again
        WHEN NEW.parked <> OLD.parked THEN
            NEW.state = OLD.state AND NEW.attempts = OLD.attempts
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

DROP TRIGGER fsm_outbox_move ON fsm_outbox;
CREATE TRIGGER fsm_outbox_move BEFORE UPDATE OF
    state, attempts, available_at, delivered_at, discarded_at, last_error, resolution, cancelled, parked, lease_token, lease_until ON fsm_outbox
    FOR EACH ROW EXECUTE FUNCTION fsm_outbox_move();

-- When a message is closed that others may wait for, the first parked one of its
-- lane is due again. This runs after the statement that closes the message: a claim
-- that parks something keeps a lock on what stands before it, so by now its row is
-- visible. The role that closes the message need not have the right to write the
-- column parked.
CREATE FUNCTION fsm_outbox_unpark() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET enable_seqscan = off AS $$
DECLARE
    next uuid;
BEGIN
    SELECT message_id INTO next FROM fsm_outbox
    WHERE parked AND machine = NEW.machine AND record_id = NEW.record_id AND lane = NEW.lane
    ORDER BY version, seq LIMIT 1 FOR UPDATE;
    IF FOUND THEN
        UPDATE fsm_outbox SET parked = false WHERE message_id = next;
    END IF;
    RETURN NULL;
END;
$$;

CREATE TRIGGER fsm_outbox_unpark AFTER UPDATE OF state, discarded_at, cancelled ON fsm_outbox
    FOR EACH ROW WHEN (OLD.open AND NOT OLD.cancelled AND (NEW.cancelled OR NOT NEW.open)) EXECUTE FUNCTION fsm_outbox_unpark();

-- Both look into the table.
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION fsm_outbox_move() SET search_path = pg_catalog, %I, pg_temp', current_schema());
    EXECUTE format('ALTER FUNCTION fsm_outbox_unpark() SET search_path = pg_catalog, %I, pg_temp', current_schema());
END;
$$;
