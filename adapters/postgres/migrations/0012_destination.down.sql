DO $$
DECLARE
    f oid;
BEGIN
    FOR f IN SELECT oid FROM pg_proc WHERE pronamespace = current_schema()::regnamespace
        AND (proname IN ('fsm_outbox_move', 'fsm_outbox_unpark') OR starts_with(proname, 'fsm_message_')) LOOP
        EXECUTE regexp_replace(pg_get_functiondef(f), '\mdestination(?=,| [=<|]|\n)', 'lane', 'g');
    END LOOP;
END;
$$;

ALTER INDEX fsm_outbox_ordering_key RENAME TO fsm_outbox_lane;
ALTER TABLE fsm_outbox RENAME COLUMN destination TO lane;
