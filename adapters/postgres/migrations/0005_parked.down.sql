DROP TRIGGER fsm_outbox_unpark ON fsm_outbox;
DROP FUNCTION fsm_outbox_unpark();
DROP TRIGGER fsm_outbox_move ON fsm_outbox;
CREATE TRIGGER fsm_outbox_move BEFORE UPDATE OF
    state, attempts, available_at, delivered_at, discarded_at, last_error, resolution, cancelled, lease_token, lease_until ON fsm_outbox
    FOR EACH ROW EXECUTE FUNCTION fsm_outbox_move();

CREATE OR REPLACE FUNCTION fsm_outbox_move() RETURNS trigger
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

DROP INDEX fsm_outbox_parked;
DROP INDEX fsm_outbox_due;
ALTER TABLE fsm_outbox DROP COLUMN parked;
CREATE INDEX fsm_outbox_due ON fsm_outbox (due_at, version, seq)
    WHERE due_at IS NOT NULL;
