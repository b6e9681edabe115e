DROP FUNCTION fsm_letter_moved(text);
DROP FUNCTION fsm_lease_lost(text);
DROP FUNCTION fsm_conflict(text, text, text, text);
