-- The books of deals. A line moves nano from the account debit to the account credit, so that an
-- entry, which is all lines of a deal and a cause, can't be out of balance.
CREATE TABLE IF NOT EXISTS deal_ledger (
    deal_id   uuid        NOT NULL,
    cause     text        NOT NULL CHECK (cause <> ''),
    line      int         NOT NULL CHECK (line > 0),
    debit     text        NOT NULL CHECK (debit IN ('EXTERNAL_TON', 'COMMISSION', 'NETWORK_FEES', 'SUSPENSE', 'ESCROW:' || deal_id) OR debit ~ '^OWNER:[0-9]+$'),
    credit    text        NOT NULL CHECK (credit IN ('EXTERNAL_TON', 'COMMISSION', 'NETWORK_FEES', 'SUSPENSE', 'ESCROW:' || deal_id) OR credit ~ '^OWNER:[0-9]+$'),
    nano      bigint      NOT NULL CHECK (nano > 0),
    booked_at timestamptz NOT NULL,
    PRIMARY KEY (deal_id, cause, line),
    CHECK (debit <> credit)
);

CREATE INDEX IF NOT EXISTS deal_ledger_debit ON deal_ledger (debit);
CREATE INDEX IF NOT EXISTS deal_ledger_credit ON deal_ledger (credit);

CREATE OR REPLACE FUNCTION deal_ledger_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'deal_ledger is append-only: post an entry that corrects the other' USING ERRCODE = 'check_violation';
END;
$$;

CREATE OR REPLACE TRIGGER deal_ledger_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON deal_ledger
    FOR EACH STATEMENT EXECUTE FUNCTION deal_ledger_append_only();

-- What a deal has credited to an account is the most that it can debit. Money from outside and
-- fees are the exceptions. The lock is for two transactions that debit one deal at the same time.
CREATE OR REPLACE FUNCTION deal_ledger_covered() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('deal_ledger:' || NEW.deal_id, 0));
    IF (SELECT sum(CASE WHEN credit = NEW.debit THEN nano ELSE -nano END) FROM deal_ledger
        WHERE deal_id = NEW.deal_id AND NEW.debit IN (debit, credit)) < 0 THEN
        RAISE EXCEPTION 'deal_ledger: entry % of deal % overdraws %', NEW.cause, NEW.deal_id, NEW.debit USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END;
$$;

CREATE OR REPLACE TRIGGER deal_ledger_covered AFTER INSERT ON deal_ledger
    FOR EACH ROW WHEN (NEW.debit NOT IN ('EXTERNAL_TON', 'NETWORK_FEES')) EXECUTE FUNCTION deal_ledger_covered();
