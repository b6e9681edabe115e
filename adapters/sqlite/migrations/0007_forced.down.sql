DROP TABLE fsm_forced;
