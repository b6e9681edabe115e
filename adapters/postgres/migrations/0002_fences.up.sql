-- A write that finds no row to write to has lost a race. It has to fail as a
-- statement, so that what follows in the same pipeline, the commit too, is
-- skipped by the server. These functions are called only then.

-- The record is not at the version that was read: says what is there now.
CREATE FUNCTION fsm_conflict(record_table text, id_column text, state_column text, id text) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    now_at json;
BEGIN
    EXECUTE format('SELECT json_build_object(''id'', %L, ''version'', version, ''state'', %I) FROM %I WHERE %I = %L',
        id, state_column, record_table, id_column, id) INTO now_at;
    RAISE EXCEPTION 'fsmgen: % %: conflict', record_table, id
        USING ERRCODE = 'FS101', DETAIL = COALESCE(now_at, json_build_object('id', id))::text;
END;
$$;

-- The row no longer carries the token of this worker.
CREATE FUNCTION fsm_lease_lost(task text) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RAISE EXCEPTION 'fsmgen: %: lease lost', task
        USING ERRCODE = 'FS102';
END;
$$;

-- A person's decision about a message that is no longer what the person saw.
CREATE FUNCTION fsm_letter_moved(message text) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RAISE EXCEPTION 'fsmgen: message %: conflict', message
        USING ERRCODE = 'FS103';
END;
$$;
