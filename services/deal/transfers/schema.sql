-- The numbers of the transfers of each wallet that processes share.
CREATE TABLE IF NOT EXISTS deal_wallets (
    wallet      varchar(67) NOT NULL PRIMARY KEY,
    last_number bigint      NOT NULL CHECK (last_number > 0)
);
