DROP TABLE fsm_forced;
DROP FUNCTION fsm_forced_stay();
