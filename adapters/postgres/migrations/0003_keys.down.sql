DROP TRIGGER fsm_keys_truncate ON fsm_keys;
DROP TRIGGER fsm_keys_stay ON fsm_keys;
DROP FUNCTION fsm_keys_stay();
