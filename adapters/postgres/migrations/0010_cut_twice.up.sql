-- A claim looks for suspects and for the rest separately. A suspect was cut short twice:
-- it may end the processes that carry it out. The first time it is claimed like any other.
DROP INDEX fsm_outbox_due;
CREATE INDEX fsm_outbox_due ON fsm_outbox (machine, lane, (state = 'delivering' AND cut > 0), due_at, version, seq)
    WHERE due_at IS NOT NULL AND NOT parked;
