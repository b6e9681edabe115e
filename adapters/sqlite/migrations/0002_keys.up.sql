-- A key that was consumed stays: without it the same call would be accepted
-- again. A person who has to prune drops the triggers for that.
CREATE TRIGGER fsm_keys_update BEFORE UPDATE ON fsm_keys
BEGIN
    SELECT RAISE(ABORT, 'fsmgen: fsm_keys: a consumed key is neither changed nor deleted');
END;

CREATE TRIGGER fsm_keys_delete BEFORE DELETE ON fsm_keys
BEGIN
    SELECT RAISE(ABORT, 'fsmgen: fsm_keys: a consumed key is neither changed nor deleted');
END;

-- INSERT OR REPLACE deletes without firing triggers. A key that is there already
-- is left as it is, which is also what the engine asks for.
CREATE TRIGGER fsm_keys_replace BEFORE INSERT ON fsm_keys
    WHEN EXISTS (SELECT 1 FROM fsm_keys AS k WHERE k.machine = NEW.machine AND k.key = NEW.key)
BEGIN
    SELECT RAISE(IGNORE);
END;
