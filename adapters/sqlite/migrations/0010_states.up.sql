-- The state of the record in which a message was asked for, or a deadline set. A worker
-- claims what was asked for in states that its version of the machine has. Null: not known,
-- of a row that is older than this column.
ALTER TABLE fsm_outbox ADD COLUMN record_state text;
ALTER TABLE fsm_deadlines ADD COLUMN record_state text;

DROP TRIGGER fsm_outbox_fixed;
CREATE TRIGGER fsm_outbox_fixed BEFORE UPDATE OF
    message_id, machine, record_id, version, seq, effect, lane, delivery, work, payload, record_state, correlation, created_at ON fsm_outbox
BEGIN
    SELECT RAISE(ABORT, 'fsmgen: fsm_outbox: what a step asked for never changes');
END;
