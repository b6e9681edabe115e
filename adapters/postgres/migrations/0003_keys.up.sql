-- A key that was consumed stays: without it the same call would be accepted
-- again. A person who has to prune switches the triggers off for that.
CREATE FUNCTION fsm_keys_stay() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'fsmgen: fsm_keys: a consumed key is neither changed nor deleted'
        USING ERRCODE = 'FS104', TABLE = 'fsm_keys',
            HINT = 'An event whose key is gone is accepted a second time.';
END;
$$;

CREATE TRIGGER fsm_keys_stay BEFORE UPDATE OR DELETE ON fsm_keys
    FOR EACH ROW EXECUTE FUNCTION fsm_keys_stay();

CREATE TRIGGER fsm_keys_truncate BEFORE TRUNCATE ON fsm_keys
    FOR EACH STATEMENT EXECUTE FUNCTION fsm_keys_stay();
