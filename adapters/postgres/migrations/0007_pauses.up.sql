-- What an operator has paused: a machine, an effect of a machine, or a destination.
-- Parts that a pause does not have are ''.
CREATE TABLE fsm_pauses (
    machine     text        NOT NULL,
    effect      text        NOT NULL,
    destination text        NOT NULL,
    who         text        NOT NULL,
    why         text        NOT NULL,
    paused_at   timestamptz NOT NULL,

    CONSTRAINT fsm_pauses_pkey
        PRIMARY KEY (machine, effect, destination),
    CONSTRAINT fsm_pauses_scope
        CHECK ((machine <> '') <> (destination <> '') AND (effect = '' OR machine <> '')),
    CONSTRAINT fsm_pauses_says_why
        CHECK (who <> '' AND why <> '')
);
