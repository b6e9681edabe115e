DROP INDEX fsm_outbox_due;
CREATE INDEX fsm_outbox_due ON fsm_outbox (machine, lane, due_at, version, seq)
    WHERE due_at IS NOT NULL AND NOT parked;
DROP TRIGGER fsm_outbox_cut ON fsm_outbox;
DROP FUNCTION fsm_outbox_cut();
ALTER TABLE fsm_outbox DROP COLUMN cut;
