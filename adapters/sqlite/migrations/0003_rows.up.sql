-- Rows of the engine stay what a step made them. What a worker or an operator
-- changes of a message follows the machine outbox; the rest is written once. Which
-- rows a step may ask for depends on the machines: Migrate writes those triggers.
-- The text of a refusal is constant, since SQLite before 3.47 takes no other.

-- Without a rowid no row can be put in the place of another, and a step has a
-- message once.
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
    payload      text    CHECK (payload IS NULL OR json_valid(payload)),
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

    CONSTRAINT fsm_outbox_place
        UNIQUE (machine, record_id, version, seq),
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
) STRICT, WITHOUT ROWID;

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

CREATE TRIGGER fsm_outbox_fixed BEFORE UPDATE OF
    message_id, machine, record_id, version, seq, effect, lane, delivery, work, payload, correlation, created_at ON fsm_outbox
BEGIN
    SELECT RAISE(ABORT, 'fsmgen: fsm_outbox: what a step asked for never changes');
END;

CREATE TRIGGER fsm_outbox_move BEFORE UPDATE OF
    state, attempts, available_at, delivered_at, discarded_at, last_error, resolution, cancelled, lease_token, lease_until ON fsm_outbox
    WHEN NOT coalesce(CASE
        -- the state that asked for this work is left
        WHEN NEW.cancelled <> OLD.cancelled THEN
            NEW.cancelled AND OLD.work AND OLD.state <> 'delivered' AND OLD.discarded_at IS NULL
            AND (NEW.state, NEW.attempts, NEW.available_at, NEW.delivered_at, NEW.discarded_at, NEW.last_error, NEW.resolution, NEW.lease_token, NEW.lease_until)
                IS (OLD.state, OLD.attempts, OLD.available_at, OLD.delivered_at, OLD.discarded_at, OLD.last_error, OLD.resolution, OLD.lease_token, OLD.lease_until)
        -- claimed, or its lease renewed
        WHEN NEW.state = 'delivering' THEN
            CASE
                WHEN NEW.attempts = OLD.attempts THEN NEW.lease_token = OLD.lease_token
                ELSE NEW.attempts = OLD.attempts + 1 AND OLD.state IN ('pending', 'retry_wait', 'delivering') AND NOT OLD.cancelled
            END
            AND (NEW.available_at, NEW.delivered_at, NEW.discarded_at, NEW.last_error, NEW.resolution)
                IS (OLD.available_at, OLD.delivered_at, OLD.discarded_at, OLD.last_error, OLD.resolution)
        -- the end of an attempt
        WHEN OLD.state = 'delivering' THEN
            NEW.attempts = OLD.attempts AND NEW.discarded_at IS NULL AND NEW.resolution IS OLD.resolution
            AND CASE NEW.state
                WHEN 'delivered' THEN NEW.delivered_at IS NOT NULL
                WHEN 'dead_letter' THEN NEW.delivered_at IS NULL
                WHEN 'retry_wait' THEN NEW.delivered_at IS NULL AND NEW.delivery <> 'at_most_once'
                ELSE NEW.delivered_at IS NULL AND NEW.delivery IN ('idempotent', 'keyed')
            END
        -- what an operator decides about a dead letter
        WHEN OLD.state = 'dead_letter' THEN
            NOT OLD.cancelled AND OLD.discarded_at IS NULL AND NEW.resolution IS NOT NULL AND NEW.delivered_at IS NULL
            AND NEW.last_error IS OLD.last_error
            AND CASE NEW.state
                WHEN 'pending' THEN NEW.attempts = 0 AND NEW.discarded_at IS NULL
                WHEN 'dead_letter' THEN NEW.attempts = OLD.attempts AND NEW.discarded_at IS NOT NULL
                ELSE 0
            END
        ELSE 0
    END, 0)
BEGIN
    SELECT RAISE(ABORT, 'fsmgen: fsm_outbox: the machine outbox does not lead there like that');
END;

-- To prune, drop this trigger, delete what is done, and make it again, in one transaction.
CREATE TRIGGER fsm_outbox_delete BEFORE DELETE ON fsm_outbox
BEGIN
    SELECT RAISE(ABORT, 'fsmgen: fsm_outbox: messages are not deleted');
END;

-- INSERT OR REPLACE deletes without firing triggers.
CREATE TRIGGER fsm_outbox_replace BEFORE INSERT ON fsm_outbox
    WHEN EXISTS (SELECT 1 FROM fsm_outbox AS o WHERE o.message_id = NEW.message_id)
        OR EXISTS (SELECT 1 FROM fsm_outbox AS o
            WHERE o.machine = NEW.machine AND o.record_id = NEW.record_id AND o.version = NEW.version AND o.seq = NEW.seq)
BEGIN
    SELECT RAISE(ABORT, 'fsmgen: fsm_outbox: this message is there already');
END;

CREATE TRIGGER fsm_deadlines_fixed BEFORE UPDATE OF machine, record_id, kind ON fsm_deadlines
BEGIN
    SELECT RAISE(ABORT, 'fsmgen: fsm_deadlines: a deadline stays that of its record');
END;

CREATE TRIGGER fsm_deadlines_move BEFORE UPDATE OF version, due_at, event, payload, correlation ON fsm_deadlines
    WHEN NEW.version <= OLD.version
BEGIN
    SELECT RAISE(ABORT, 'fsmgen: fsm_deadlines: only a later step changes a deadline');
END;

-- A deadline is replaced by that of a later step, and else left as it is.
CREATE TRIGGER fsm_deadlines_replace BEFORE INSERT ON fsm_deadlines
    WHEN EXISTS (SELECT 1 FROM fsm_deadlines AS d
        WHERE d.machine = NEW.machine AND d.record_id = NEW.record_id AND d.kind = NEW.kind AND d.version >= NEW.version)
BEGIN
    SELECT RAISE(IGNORE);
END;
