-- Which steps an operator forced, and why. A row belongs to the row of the history with
-- this version, and stays as that does.
CREATE TABLE fsm_forced (
    machine   text        NOT NULL,
    record_id text        NOT NULL,
    version   bigint      NOT NULL,
    who       text        NOT NULL,
    why       text        NOT NULL,
    forced_at timestamptz NOT NULL,

    CONSTRAINT fsm_forced_pkey
        PRIMARY KEY (machine, record_id, version),
    CONSTRAINT fsm_forced_says_why
        CHECK (who <> '' AND why <> '')
);

CREATE FUNCTION fsm_forced_stay() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'fsmgen: fsm_forced: what was forced is neither changed nor deleted'
        USING ERRCODE = 'FS107', TABLE = 'fsm_forced', CONSTRAINT = 'fsm_forced_stay';
END;
$$;

CREATE TRIGGER fsm_forced_stay BEFORE UPDATE OR DELETE ON fsm_forced
    FOR EACH ROW EXECUTE FUNCTION fsm_forced_stay();

CREATE TRIGGER fsm_forced_truncate BEFORE TRUNCATE ON fsm_forced
    FOR EACH STATEMENT EXECUTE FUNCTION fsm_forced_stay();
