DROP TRIGGER fsm_outbox_fixed;
CREATE TRIGGER fsm_outbox_fixed BEFORE UPDATE OF
    message_id, machine, record_id, version, seq, effect, lane, delivery, work, payload, correlation, created_at ON fsm_outbox
BEGIN
    SELECT RAISE(ABORT, 'fsmgen: fsm_outbox: what a step asked for never changes');
END;

ALTER TABLE fsm_deadlines DROP COLUMN record_state;
ALTER TABLE fsm_outbox DROP COLUMN record_state;
