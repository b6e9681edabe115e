-- How many attempts at the message were cut short: their lease ended before their
-- outcome was stored.
ALTER TABLE fsm_outbox ADD COLUMN cut integer NOT NULL DEFAULT 0;

-- A claim counts an attempt that was cut short, a requeue forgets them.
CREATE TRIGGER fsm_outbox_cut BEFORE UPDATE OF cut ON fsm_outbox
    WHEN NEW.cut <> OLD.cut
        AND NOT (NEW.cut = OLD.cut + 1 AND OLD.state = 'delivering' AND NEW.state = 'delivering' AND NEW.attempts = OLD.attempts + 1)
        AND NOT (NEW.cut = 0 AND OLD.state = 'dead_letter' AND NEW.state = 'pending')
BEGIN
    SELECT RAISE(ABORT, 'fsmgen: fsm_outbox: no attempt was cut short');
END;

-- A claim looks for suspects, whose attempt was cut short, and for the rest separately.
DROP INDEX fsm_outbox_due;
CREATE INDEX fsm_outbox_due ON fsm_outbox (machine, lane, state = 'delivering', coalesce(lease_until, available_at), version, seq)
    WHERE parked = 0 AND cancelled = 0 AND state IN ('pending', 'retry_wait', 'delivering');
