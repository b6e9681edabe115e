DROP INDEX fsm_outbox_due;
CREATE INDEX fsm_outbox_due ON fsm_outbox (machine, lane, coalesce(lease_until, available_at), version, seq)
    WHERE parked = 0 AND cancelled = 0 AND state IN ('pending', 'retry_wait', 'delivering');
DROP TRIGGER fsm_outbox_cut;
ALTER TABLE fsm_outbox DROP COLUMN cut;
