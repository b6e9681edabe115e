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

-- It looks into the table.
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION fsm_outbox_move() SET search_path = pg_catalog, %I, pg_temp', current_schema());
END;
$$;
