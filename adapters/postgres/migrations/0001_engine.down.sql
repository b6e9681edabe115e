DROP TABLE fsm_keys;
DROP TABLE fsm_deadlines;
DROP TABLE fsm_outbox;
