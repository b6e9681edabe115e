-- A due message that waits behind another of its lane is parked: it is not in the
-- index that claims look into, until what it waits for is closed.
ALTER TABLE fsm_outbox ADD COLUMN parked integer NOT NULL DEFAULT 0 CHECK (parked IN (0, 1));

DROP INDEX fsm_outbox_due;
CREATE INDEX fsm_outbox_due ON fsm_outbox (machine, lane, coalesce(lease_until, available_at), version, seq)
    WHERE parked = 0 AND cancelled = 0 AND state IN ('pending', 'retry_wait', 'delivering');

CREATE INDEX fsm_outbox_parked ON fsm_outbox (machine, record_id, lane, version, seq)
    WHERE parked = 1 AND cancelled = 0;

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

-- When a message is closed that others may wait for, the first parked one of its
-- lane is due again.
CREATE TRIGGER fsm_outbox_unpark AFTER UPDATE OF state, discarded_at, cancelled ON fsm_outbox
    WHEN OLD.state <> 'delivered' AND OLD.cancelled = 0 AND OLD.discarded_at IS NULL
        AND (NEW.state = 'delivered' OR NEW.cancelled = 1 OR NEW.discarded_at IS NOT NULL)
BEGIN
    UPDATE fsm_outbox SET parked = 0 WHERE message_id = (
        SELECT message_id FROM fsm_outbox AS p
        WHERE p.machine = NEW.machine AND p.record_id = NEW.record_id AND p.lane = NEW.lane AND p.parked = 1 AND p.cancelled = 0
        ORDER BY p.version, p.seq LIMIT 1);
END;
