DROP INDEX fsm_outbox_due;
CREATE INDEX fsm_outbox_due ON fsm_outbox (machine, lane, (state = 'delivering'), due_at, version, seq)
    WHERE due_at IS NOT NULL AND NOT parked;
