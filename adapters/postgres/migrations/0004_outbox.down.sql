ALTER TABLE fsm_outbox DROP CONSTRAINT fsm_outbox_rules;
DROP FUNCTION fsm_outbox_rules(fsm_outbox);
DROP TRIGGER fsm_outbox_derive ON fsm_outbox;
DROP FUNCTION fsm_outbox_derive();

-- A column can't be made a generated one. Its indices go with it.
ALTER TABLE fsm_outbox
    DROP COLUMN due_at,
    DROP COLUMN open,
    ADD COLUMN due_at timestamptz GENERATED ALWAYS AS (
        CASE
            WHEN cancelled THEN NULL
            WHEN state IN ('pending', 'retry_wait') THEN available_at
            WHEN state = 'delivering' THEN lease_until
        END) STORED,
    ADD COLUMN open boolean GENERATED ALWAYS AS (
        state <> 'delivered' AND discarded_at IS NULL AND (NOT cancelled OR state = 'delivering')) STORED,
    ADD CONSTRAINT fsm_outbox_attempts_range
        CHECK (attempts >= 0),
    ADD CONSTRAINT fsm_outbox_state_declared
        CHECK (state IN ('pending', 'delivering', 'delivered', 'retry_wait', 'dead_letter')),
    ADD CONSTRAINT fsm_outbox_waiting_is_due
        CHECK (state NOT IN ('pending', 'retry_wait') OR available_at IS NOT NULL),
    ADD CONSTRAINT fsm_outbox_delivering_is_leased
        CHECK ((state = 'delivering') = (lease_token IS NOT NULL) AND (state = 'delivering') = (lease_until IS NOT NULL)),
    ADD CONSTRAINT fsm_outbox_delivered_says_when
        CHECK (state <> 'delivered' OR delivered_at IS NOT NULL);

CREATE INDEX fsm_outbox_due ON fsm_outbox (due_at, version, seq)
    WHERE due_at IS NOT NULL;

CREATE INDEX fsm_outbox_lane ON fsm_outbox (machine, record_id, lane, version, seq)
    WHERE open;
