-- The last number of a deal's wallet.
CREATE TABLE IF NOT EXISTS deal_subwallets (
    singleton   integer NOT NULL PRIMARY KEY CHECK (singleton = 1),
    last_number bigint  NOT NULL CHECK (last_number > 0 AND last_number < 4294967296)
);

-- The address of each deal, and the last transaction there that is known.
CREATE TABLE IF NOT EXISTS deal_addresses (
    deal_id     varchar(36) NOT NULL PRIMARY KEY,
    subwallet   bigint      NOT NULL UNIQUE CHECK (subwallet > 0 AND subwallet < 4294967296 AND subwallet <> 698983191),
    address     varchar(67) NOT NULL UNIQUE,
    cursor_lt   bigint      NOT NULL DEFAULT 0 CHECK (cursor_lt >= 0),
    cursor_hash varchar(64) NOT NULL DEFAULT '0000000000000000000000000000000000000000000000000000000000000000'
);

-- What was paid to an address.
CREATE TABLE IF NOT EXISTS deal_deposits (
    address  varchar(67) NOT NULL REFERENCES deal_addresses (address),
    lt       bigint      NOT NULL CHECK (lt > 0),
    hash     varchar(64) NOT NULL,
    deal_id  varchar(36) NOT NULL,
    nano     bigint      NOT NULL CHECK (nano > 0),
    sender   varchar(67) NOT NULL,
    remark   text        NOT NULL,
    paid_at  timestamptz NOT NULL,
    PRIMARY KEY (address, lt, hash)
);

-- The last transaction of each escrow wallet that is known.
CREATE TABLE IF NOT EXISTS deal_funds (
    wallet      varchar(67) NOT NULL PRIMARY KEY,
    cursor_lt   bigint      NOT NULL CHECK (cursor_lt >= 0),
    cursor_hash varchar(64) NOT NULL
);
