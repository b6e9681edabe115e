DROP TABLE fsm_pauses;
