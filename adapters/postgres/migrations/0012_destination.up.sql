-- The column is called by what it holds, the destination of an effect. Messages with the same
-- (machine, record_id, destination) have the same ordering key.
ALTER TABLE fsm_outbox RENAME COLUMN lane TO destination;
ALTER INDEX fsm_outbox_lane RENAME TO fsm_outbox_ordering_key;

-- Indices and triggers follow a column that is renamed, functions do not: those of
-- migrations 0005 and 0009, and for each machine the one that Migrate wrote. Migrate
-- writes only those of the machines that it is called with.
DO $$
DECLARE
    f oid;
BEGIN
    FOR f IN SELECT oid FROM pg_proc WHERE pronamespace = current_schema()::regnamespace
        AND (proname IN ('fsm_outbox_move', 'fsm_outbox_unpark') OR starts_with(proname, 'fsm_message_')) LOOP
        -- as a column, or in the text of a refusal; names of a machine are in quotes
        EXECUTE regexp_replace(pg_get_functiondef(f), '\mlane(?=,| [=<|]|\n)', 'destination', 'g');
    END LOOP;
END;
$$;
