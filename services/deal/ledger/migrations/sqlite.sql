-- The books of deals. A line moves nano from the account debit to the account credit, so that an
-- entry, which is all lines of a deal and a cause, can't be out of balance.
CREATE TABLE IF NOT EXISTS deal_ledger (
    deal_id   TEXT    NOT NULL,
    cause     TEXT    NOT NULL CHECK (cause <> ''),
    line      INTEGER NOT NULL CHECK (line > 0),
    debit     TEXT    NOT NULL CHECK (debit IN ('EXTERNAL_TON', 'COMMISSION', 'NETWORK_FEES', 'SUSPENSE', 'ESCROW:' || deal_id)
        OR debit GLOB 'OWNER:[0-9]*' AND substr(debit, 7) NOT GLOB '*[^0-9]*'),
    credit    TEXT    NOT NULL CHECK (credit IN ('EXTERNAL_TON', 'COMMISSION', 'NETWORK_FEES', 'SUSPENSE', 'ESCROW:' || deal_id)
        OR credit GLOB 'OWNER:[0-9]*' AND substr(credit, 7) NOT GLOB '*[^0-9]*'),
    nano      INTEGER NOT NULL CHECK (nano > 0),
    booked_at TEXT    NOT NULL,
    PRIMARY KEY (deal_id, cause, line),
    CHECK (debit <> credit)
) STRICT;

CREATE INDEX IF NOT EXISTS deal_ledger_debit ON deal_ledger (debit);
CREATE INDEX IF NOT EXISTS deal_ledger_credit ON deal_ledger (credit);

CREATE TRIGGER IF NOT EXISTS deal_ledger_update BEFORE UPDATE ON deal_ledger BEGIN
    SELECT RAISE(ABORT, 'deal_ledger is append-only: post an entry that corrects the other');
END;

CREATE TRIGGER IF NOT EXISTS deal_ledger_delete BEFORE DELETE ON deal_ledger BEGIN
    SELECT RAISE(ABORT, 'deal_ledger is append-only: post an entry that corrects the other');
END;

-- INSERT OR REPLACE would delete a line without the trigger above, unless recursive_triggers is on.
CREATE TRIGGER IF NOT EXISTS deal_ledger_replace BEFORE INSERT ON deal_ledger
WHEN EXISTS (SELECT 1 FROM deal_ledger WHERE deal_id = NEW.deal_id AND cause = NEW.cause AND line = NEW.line) BEGIN
    SELECT RAISE(ABORT, 'deal_ledger is append-only: the line is there');
END;

-- What a deal has credited to an account is the most that it can debit. Money from outside and
-- fees are the exceptions.
CREATE TRIGGER IF NOT EXISTS deal_ledger_covered AFTER INSERT ON deal_ledger
WHEN NEW.debit NOT IN ('EXTERNAL_TON', 'NETWORK_FEES')
    AND (SELECT sum(CASE WHEN credit = NEW.debit THEN nano ELSE -nano END) FROM deal_ledger
         WHERE deal_id = NEW.deal_id AND NEW.debit IN (debit, credit)) < 0 BEGIN
    SELECT RAISE(ABORT, 'deal_ledger: the entry overdraws the account that it debits');
END;
