DROP TRIGGER fsm_deadlines_cause ON fsm_deadlines;
CREATE TRIGGER fsm_deadlines_cause AFTER INSERT OR DELETE OR UPDATE OF version, due_at, event, payload, correlation ON fsm_deadlines
    FOR EACH ROW EXECUTE FUNCTION fsm_deadlines_cause();

DROP TRIGGER fsm_outbox_fixed ON fsm_outbox;
CREATE TRIGGER fsm_outbox_fixed BEFORE UPDATE OF
    message_id, machine, record_id, version, seq, effect, lane, delivery, work, payload, correlation, created_at ON fsm_outbox
    FOR EACH ROW EXECUTE FUNCTION fsm_outbox_fixed();

ALTER TABLE fsm_deadlines DROP COLUMN record_state;
ALTER TABLE fsm_outbox DROP COLUMN record_state;
