-- What an operator has paused: a machine, an effect of a machine, or a destination.
-- Parts that a pause does not have are ''.
CREATE TABLE fsm_pauses (
    machine     text NOT NULL,
    effect      text NOT NULL,
    destination text NOT NULL,
    who         text NOT NULL,
    why         text NOT NULL,
    paused_at   text NOT NULL CHECK (paused_at GLOB '[0-9][0-9][0-9][0-9]-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9].[0-9][0-9][0-9][0-9][0-9][0-9]Z'),

    PRIMARY KEY (machine, effect, destination),
    CONSTRAINT fsm_pauses_scope
        CHECK ((machine <> '') <> (destination <> '') AND (effect = '' OR machine <> '')),
    CONSTRAINT fsm_pauses_says_why
        CHECK (who <> '' AND why <> '')
) STRICT, WITHOUT ROWID;
