-- What the engine keeps beside the tables of the machines.

-- One effect on its way to a handler. The columns from state to resolution are
-- those of the machine outbox; a row that is done stays, as a record of it.
CREATE TABLE fsm_outbox (
    message_id   uuid        NOT NULL,
    machine      text        NOT NULL,
    record_id    text        NOT NULL,
    -- the step that asked for it, and the place within that step
    version      bigint      NOT NULL,
    seq          integer     NOT NULL,
    effect       text        NOT NULL,
    lane         text        NOT NULL,
    delivery     text        NOT NULL,
    work         boolean     NOT NULL,
    payload      json,
    correlation  text,
    created_at   timestamptz NOT NULL,
    state        text        NOT NULL,
    attempts     bigint      NOT NULL,
    available_at timestamptz,
    delivered_at timestamptz,
    discarded_at timestamptz,
    last_error   text,
    resolution   text,
    -- the state that asked for this work was left
    cancelled    boolean     NOT NULL DEFAULT false,
    lease_token  uuid,
    lease_until  timestamptz,
    -- who holds the lease, for people
    worker       text,
    -- when a worker may take it: a waiting row from available_at on, a claimed
    -- one once its lease is over; null: never
    due_at       timestamptz GENERATED ALWAYS AS (
        CASE
            WHEN cancelled THEN NULL
            WHEN state IN ('pending', 'retry_wait') THEN available_at
            WHEN state = 'delivering' THEN lease_until
        END) STORED,
    -- whether it may stand in the way of its lane; a cancelled attempt does
    -- until it ends
    open         boolean     GENERATED ALWAYS AS (
        state <> 'delivered' AND discarded_at IS NULL AND (NOT cancelled OR state = 'delivering')) STORED,

    CONSTRAINT fsm_outbox_pkey
        PRIMARY KEY (message_id),
    CONSTRAINT fsm_outbox_attempts_range
        CHECK (attempts >= 0),
    CONSTRAINT fsm_outbox_state_declared
        CHECK (state IN ('pending', 'delivering', 'delivered', 'retry_wait', 'dead_letter')),
    CONSTRAINT fsm_outbox_waiting_is_due
        CHECK (state NOT IN ('pending', 'retry_wait') OR available_at IS NOT NULL),
    CONSTRAINT fsm_outbox_delivering_is_leased
        CHECK ((state = 'delivering') = (lease_token IS NOT NULL) AND (state = 'delivering') = (lease_until IS NOT NULL)),
    CONSTRAINT fsm_outbox_delivered_says_when
        CHECK (state <> 'delivered' OR delivered_at IS NOT NULL)
);

-- What a worker looks for. Rows that are done are in none of these indices.
CREATE INDEX fsm_outbox_due ON fsm_outbox (due_at, version, seq)
    WHERE due_at IS NOT NULL;

-- What may be in the way of it, and the work of a record.
CREATE INDEX fsm_outbox_lane ON fsm_outbox (machine, record_id, lane, version, seq)
    WHERE open;

CREATE INDEX fsm_outbox_dead ON fsm_outbox (created_at, version, seq)
    WHERE state = 'dead_letter' AND NOT cancelled AND discarded_at IS NULL;

-- An event that the engine fires at a time: one row a record and kind.
CREATE TABLE fsm_deadlines (
    machine     text        NOT NULL,
    record_id   text        NOT NULL,
    kind        text        NOT NULL,
    -- of the step that armed it
    version     bigint      NOT NULL,
    due_at      timestamptz NOT NULL,
    event       text        NOT NULL,
    payload     json,
    correlation text,
    lease_token uuid,
    lease_until timestamptz,
    worker      text,
    -- due_at, or the end of the lease on it
    claim_at    timestamptz GENERATED ALWAYS AS (GREATEST(due_at, lease_until)) STORED,

    CONSTRAINT fsm_deadlines_pkey
        PRIMARY KEY (machine, record_id, kind),
    CONSTRAINT fsm_deadlines_kind_declared
        CHECK (kind IN ('timeout', 'raise')),
    CONSTRAINT fsm_deadlines_lease
        CHECK ((lease_token IS NULL) = (lease_until IS NULL))
);

CREATE INDEX fsm_deadlines_due ON fsm_deadlines (claim_at);

-- Idempotency keys that an accepted event consumed: for ever.
CREATE TABLE fsm_keys (
    machine    text        NOT NULL,
    key        text        NOT NULL,
    record_id  text        NOT NULL,
    event      text        NOT NULL,
    -- of the record after the event
    version    bigint      NOT NULL,
    created_at timestamptz NOT NULL,

    CONSTRAINT fsm_keys_pkey
        PRIMARY KEY (machine, key)
);
