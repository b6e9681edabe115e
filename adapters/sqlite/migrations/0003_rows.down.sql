DROP TRIGGER fsm_deadlines_replace;
DROP TRIGGER fsm_deadlines_move;
DROP TRIGGER fsm_deadlines_fixed;

-- The triggers of fsm_outbox go with the table.
CREATE TABLE fsm_outbox_new (
    message_id   text    NOT NULL PRIMARY KEY,
    machine      text    NOT NULL,
    record_id    text    NOT NULL,
    -- the step that asked for it, and the place within that step
    version      integer NOT NULL,
    seq          integer NOT NULL,
    effect       text    NOT NULL,
    lane         text    NOT NULL,
    delivery     text    NOT NULL,
    work         integer NOT NULL CHECK (work IN (0, 1)),
    payload      text    CHECK (json_valid(payload)),
    correlation  text,
    created_at   text    NOT NULL,
    state        text    NOT NULL,
    attempts     integer NOT NULL CHECK (attempts >= 0),
    available_at text,
    delivered_at text,
    discarded_at text,
    last_error   text,
    resolution   text,
    -- the state that asked for this work was left
    cancelled    integer NOT NULL DEFAULT 0 CHECK (cancelled IN (0, 1)),
    lease_token  text,
    lease_until  text,
    -- who holds the lease, for people
    worker       text,

    CONSTRAINT fsm_outbox_state_declared
        CHECK (state IN ('pending', 'delivering', 'delivered', 'retry_wait', 'dead_letter')),
    CONSTRAINT fsm_outbox_waiting_is_due
        CHECK (state NOT IN ('pending', 'retry_wait') OR available_at IS NOT NULL),
    CONSTRAINT fsm_outbox_delivering_is_leased
        CHECK ((state = 'delivering') = (lease_token IS NOT NULL) AND (state = 'delivering') = (lease_until IS NOT NULL)),
    CONSTRAINT fsm_outbox_delivered_says_when
        CHECK (state <> 'delivered' OR delivered_at IS NOT NULL),
    CONSTRAINT fsm_outbox_times
        CHECK (coalesce(lease_until, available_at, created_at) GLOB '[0-9][0-9][0-9][0-9]-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9].[0-9][0-9][0-9][0-9][0-9][0-9]Z')
) STRICT;

INSERT INTO fsm_outbox_new SELECT * FROM fsm_outbox;
DROP TABLE fsm_outbox;
ALTER TABLE fsm_outbox_new RENAME TO fsm_outbox;


-- What a worker looks for: a waiting row from available_at on, a claimed one
-- once its lease is over.
CREATE INDEX fsm_outbox_due ON fsm_outbox (machine, coalesce(lease_until, available_at), version, seq)
    WHERE cancelled = 0 AND state IN ('pending', 'retry_wait', 'delivering');

-- What may be in the way of it: rows of the lane that are not done.
CREATE INDEX fsm_outbox_lane ON fsm_outbox (machine, record_id, lane, version, seq)
    WHERE state <> 'delivered' AND (cancelled = 0 OR state = 'delivering');

CREATE INDEX fsm_outbox_dead ON fsm_outbox (machine, created_at, version, seq)
    WHERE state = 'dead_letter' AND cancelled = 0 AND discarded_at IS NULL;
