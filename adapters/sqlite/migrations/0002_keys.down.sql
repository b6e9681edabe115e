DROP TRIGGER fsm_keys_replace;
DROP TRIGGER fsm_keys_delete;
DROP TRIGGER fsm_keys_update;
