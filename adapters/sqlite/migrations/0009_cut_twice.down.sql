DROP INDEX fsm_outbox_due;
CREATE INDEX fsm_outbox_due ON fsm_outbox (machine, lane, state = 'delivering', coalesce(lease_until, available_at), version, seq)
    WHERE parked = 0 AND cancelled = 0 AND state IN ('pending', 'retry_wait', 'delivering');
