DROP TRIGGER fsm_outbox_move;
CREATE TRIGGER fsm_outbox_move BEFORE UPDATE OF
    state, attempts, available_at, delivered_at, discarded_at, last_error, resolution, cancelled, parked, lease_token, lease_until ON fsm_outbox
    WHEN NOT coalesce(CASE
        -- the state that asked for this work is left
        WHEN NEW.cancelled <> OLD.cancelled THEN
            NEW.cancelled AND OLD.work AND OLD.state <> 'delivered' AND OLD.discarded_at IS NULL
            AND (NEW.state, NEW.attempts, NEW.available_at, NEW.delivered_at, NEW.discarded_at, NEW.last_error, NEW.resolution, NEW.lease_token, NEW.lease_until)
                IS (OLD.state, OLD.attempts, OLD.available_at, OLD.delivered_at, OLD.discarded_at, OLD.last_error, OLD.resolution, OLD.lease_token, OLD.lease_until)
        -- parked by a claim, or due again
        WHEN NEW.parked <> OLD.parked THEN
            (NEW.parked = 0 OR EXISTS (SELECT 1 FROM fsm_outbox AS b
                WHERE b.machine = NEW.machine AND b.record_id = NEW.record_id AND b.lane = NEW.lane AND (b.version, b.seq) < (NEW.version, NEW.seq)
                    AND b.state <> 'delivered' AND b.cancelled = 0 AND b.discarded_at IS NULL))
            AND (NEW.state, NEW.attempts, NEW.available_at, NEW.delivered_at, NEW.discarded_at, NEW.last_error, NEW.resolution, NEW.lease_token, NEW.lease_until)
                IS (OLD.state, OLD.attempts, OLD.available_at, OLD.delivered_at, OLD.discarded_at, OLD.last_error, OLD.resolution, OLD.lease_token, OLD.lease_until)
        -- claimed, or its lease renewed
        WHEN NEW.state = 'delivering' THEN
            CASE
                WHEN NEW.attempts = OLD.attempts THEN NEW.lease_token = OLD.lease_token
                ELSE NEW.attempts = OLD.attempts + 1 AND OLD.state IN ('pending', 'retry_wait', 'delivering') AND NOT OLD.cancelled
            END
            AND (NEW.available_at, NEW.delivered_at, NEW.discarded_at, NEW.last_error, NEW.resolution)
                IS (OLD.available_at, OLD.delivered_at, OLD.discarded_at, OLD.last_error, OLD.resolution)
        -- the end of an attempt
        WHEN OLD.state = 'delivering' THEN
            NEW.attempts = OLD.attempts AND NEW.discarded_at IS NULL AND NEW.resolution IS OLD.resolution
            AND CASE NEW.state
                WHEN 'delivered' THEN NEW.delivered_at IS NOT NULL
                WHEN 'dead_letter' THEN NEW.delivered_at IS NULL
                WHEN 'retry_wait' THEN NEW.delivered_at IS NULL AND NEW.delivery <> 'at_most_once'
                ELSE NEW.delivered_at IS NULL AND NEW.delivery IN ('idempotent', 'keyed')
            END
        -- what an operator decides about a dead letter
        WHEN OLD.state = 'dead_letter' THEN
            NOT OLD.cancelled AND OLD.discarded_at IS NULL AND NEW.resolution IS NOT NULL AND NEW.delivered_at IS NULL
            AND NEW.last_error IS OLD.last_error
            AND CASE NEW.state
                WHEN 'pending' THEN NEW.attempts = 0 AND NEW.discarded_at IS NULL
                WHEN 'dead_letter' THEN NEW.attempts = OLD.attempts AND NEW.discarded_at IS NOT NULL
                ELSE 0
            END
        ELSE 0
    END, 0)
BEGIN
    SELECT RAISE(ABORT, 'fsmgen: fsm_outbox: the machine outbox does not lead there like that');
END;
