-- Which steps an operator forced, and why. A row belongs to the row of the history with
-- this version, and stays as that does.
CREATE TABLE fsm_forced (
    machine   text    NOT NULL,
    record_id text    NOT NULL,
    version   integer NOT NULL,
    who       text    NOT NULL,
    why       text    NOT NULL,
    forced_at text    NOT NULL CHECK (forced_at GLOB '[0-9][0-9][0-9][0-9]-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9].[0-9][0-9][0-9][0-9][0-9][0-9]Z'),

    PRIMARY KEY (machine, record_id, version),
    CONSTRAINT fsm_forced_says_why
        CHECK (who <> '' AND why <> '')
) STRICT, WITHOUT ROWID;

CREATE TRIGGER fsm_forced_update BEFORE UPDATE ON fsm_forced
BEGIN
    SELECT RAISE(ABORT, 'fsmgen: fsm_forced: what was forced is neither changed nor deleted');
END;

CREATE TRIGGER fsm_forced_delete BEFORE DELETE ON fsm_forced
BEGIN
    SELECT RAISE(ABORT, 'fsmgen: fsm_forced: what was forced is neither changed nor deleted');
END;

-- INSERT OR REPLACE deletes without firing triggers.
CREATE TRIGGER fsm_forced_replace BEFORE INSERT ON fsm_forced
    WHEN EXISTS (SELECT 1 FROM fsm_forced AS f WHERE f.machine = NEW.machine AND f.record_id = NEW.record_id AND f.version = NEW.version)
BEGIN
    SELECT RAISE(ABORT, 'fsmgen: fsm_forced: what was forced is neither changed nor deleted');
END;
