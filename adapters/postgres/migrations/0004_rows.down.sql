DO $$
DECLARE
    f regprocedure;
BEGIN
    FOR f IN SELECT oid FROM pg_proc WHERE pronamespace = current_schema()::regnamespace
        AND (proname LIKE 'fsm\_message\_%' OR proname LIKE 'fsm\_deadline\_%' OR proname LIKE 'fsm\_key\_%') LOOP
        EXECUTE 'DROP FUNCTION ' || f;
    END LOOP;
END;
$$;
ALTER FUNCTION fsm_letter_moved(text) RESET search_path;
ALTER FUNCTION fsm_lease_lost(text) RESET search_path;
ALTER FUNCTION fsm_keys_stay() RESET search_path;
ALTER FUNCTION fsm_conflict(text, text, text, text) RESET search_path;
DROP FUNCTION fsm_prune(timestamptz);
DROP TRIGGER fsm_keys_cause ON fsm_keys;
DROP TRIGGER fsm_deadlines_cause ON fsm_deadlines;
DROP TRIGGER fsm_deadlines_truncate ON fsm_deadlines;
DROP TRIGGER fsm_deadlines_fixed ON fsm_deadlines;
DROP TRIGGER fsm_outbox_cause ON fsm_outbox;
DROP TRIGGER fsm_outbox_truncate ON fsm_outbox;
DROP TRIGGER fsm_outbox_stay ON fsm_outbox;
DROP TRIGGER fsm_outbox_move ON fsm_outbox;
DROP TRIGGER fsm_outbox_fixed ON fsm_outbox;
DROP FUNCTION fsm_keys_cause();
DROP FUNCTION fsm_deadlines_cause();
DROP FUNCTION fsm_deadlines_fixed();
DROP FUNCTION fsm_outbox_cause();
DROP FUNCTION fsm_outbox_stay();
DROP FUNCTION fsm_outbox_move();
DROP FUNCTION fsm_outbox_fixed();
