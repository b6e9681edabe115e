-- A claim looks for suspects and for the rest separately. A suspect was cut short twice:
-- it may end the processes that carry it out. The first time it is claimed like any other.
DROP INDEX fsm_outbox_due;
CREATE INDEX fsm_outbox_due ON fsm_outbox (machine, lane, state = 'delivering' AND cut > 0, coalesce(lease_until, available_at), version, seq)
    WHERE parked = 0 AND cancelled = 0 AND state IN ('pending', 'retry_wait', 'delivering');
