-- The state of the record in which a message was asked for, or a deadline set. A worker
-- claims what was asked for in states that its version of the machine has. Null: not known,
-- of a row that is older than this column.
ALTER TABLE fsm_outbox ADD COLUMN record_state text;
ALTER TABLE fsm_deadlines ADD COLUMN record_state text;

DROP TRIGGER fsm_outbox_fixed ON fsm_outbox;
CREATE TRIGGER fsm_outbox_fixed BEFORE UPDATE OF
    message_id, machine, record_id, version, seq, effect, lane, delivery, work, payload, record_state, correlation, created_at ON fsm_outbox
    FOR EACH ROW EXECUTE FUNCTION fsm_outbox_fixed();

DROP TRIGGER fsm_deadlines_cause ON fsm_deadlines;
CREATE TRIGGER fsm_deadlines_cause AFTER INSERT OR DELETE OR UPDATE OF version, due_at, event, payload, record_state, correlation ON fsm_deadlines
    FOR EACH ROW EXECUTE FUNCTION fsm_deadlines_cause();
