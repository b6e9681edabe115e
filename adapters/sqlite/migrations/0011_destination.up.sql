-- The column is called by what it holds, the destination of an effect. Messages with the same
-- (machine, record_id, destination) have the same ordering key. Indices and triggers follow.
ALTER TABLE fsm_outbox RENAME COLUMN lane TO destination;

-- What may be in the way of a message: rows of its ordering key that are not done.
DROP INDEX fsm_outbox_lane;
CREATE INDEX fsm_outbox_ordering_key ON fsm_outbox (machine, record_id, destination, version, seq)
    WHERE state <> 'delivered' AND (cancelled = 0 OR state = 'delivering');
