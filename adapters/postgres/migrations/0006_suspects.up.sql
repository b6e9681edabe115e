-- How many attempts at the message were cut short: their lease ended before their
-- outcome was stored.
ALTER TABLE fsm_outbox ADD COLUMN cut integer NOT NULL DEFAULT 0;

-- A claim counts an attempt that was cut short, a requeue forgets them.
CREATE FUNCTION fsm_outbox_cut() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NEW.cut = OLD.cut + 1 AND OLD.state = 'delivering' AND NEW.state = 'delivering' AND NEW.attempts = OLD.attempts + 1
        OR NEW.cut = 0 AND OLD.state = 'dead_letter' AND NEW.state = 'pending' THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'fsmgen: fsm_outbox: message %: no attempt was cut short', OLD.message_id
        USING ERRCODE = 'FS105', TABLE = 'fsm_outbox', CONSTRAINT = 'fsm_outbox_cut',
            HINT = 'Only claims count attempts that were cut short; a requeue sets cut to 0.';
END;
$$;

CREATE TRIGGER fsm_outbox_cut BEFORE UPDATE OF cut ON fsm_outbox
    FOR EACH ROW WHEN (NEW.cut <> OLD.cut) EXECUTE FUNCTION fsm_outbox_cut();

-- A claim looks for suspects, whose attempt was cut short, and for the rest separately.
DROP INDEX fsm_outbox_due;
CREATE INDEX fsm_outbox_due ON fsm_outbox (machine, lane, (state = 'delivering'), due_at, version, seq)
    WHERE due_at IS NOT NULL AND NOT parked;
