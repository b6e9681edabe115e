DROP INDEX fsm_outbox_ordering_key;
ALTER TABLE fsm_outbox RENAME COLUMN destination TO lane;
CREATE INDEX fsm_outbox_lane ON fsm_outbox (machine, record_id, lane, version, seq)
    WHERE state <> 'delivered' AND (cancelled = 0 OR state = 'delivering');
