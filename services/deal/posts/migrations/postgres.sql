-- The posts of deals. due_at is when a post needs something next; while a process works on it, the
-- end of its lease; NULL: nothing.
CREATE TABLE IF NOT EXISTS deal_posts (
    deal_id      uuid        PRIMARY KEY,
    content      text        NOT NULL CHECK (content <> ''),
    hash         text        NOT NULL CHECK (hash ~ '^[0-9a-f]{64}$'),
    state        text        NOT NULL CHECK (state IN ('enabled', 'scheduled', 'published', 'verifying', 'passed', 'failed', 'unproven', 'refused', 'dropped')),
    publish_at   timestamptz,
    published_at timestamptz,
    due_at       timestamptz,
    reason       text        NOT NULL DEFAULT '',
    CHECK (state <> 'scheduled' OR publish_at IS NOT NULL),
    CHECK (state NOT IN ('published', 'verifying', 'passed', 'failed', 'unproven') OR published_at IS NOT NULL),
    CHECK (state NOT IN ('enabled', 'scheduled', 'refused') OR published_at IS NULL)
);

CREATE INDEX IF NOT EXISTS deal_posts_due ON deal_posts (due_at) WHERE due_at IS NOT NULL;

-- What the verifier has seen. hash is empty where no post was seen, or none that has a hash.
CREATE TABLE IF NOT EXISTS deal_post_looks (
    deal_id   uuid        NOT NULL REFERENCES deal_posts,
    looked_at timestamptz NOT NULL,
    seen      boolean     NOT NULL,
    hash      text        NOT NULL CHECK (seen OR hash = ''),
    PRIMARY KEY (deal_id, looked_at)
);

CREATE OR REPLACE FUNCTION deal_posts_evidence() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'deal_posts: what was published, when, and what was seen of it is evidence and does not change' USING ERRCODE = 'check_violation';
END;
$$;

CREATE OR REPLACE TRIGGER deal_posts_keep BEFORE DELETE OR TRUNCATE ON deal_posts
    FOR EACH STATEMENT EXECUTE FUNCTION deal_posts_evidence();

CREATE OR REPLACE TRIGGER deal_posts_once BEFORE UPDATE ON deal_posts
    FOR EACH ROW WHEN ((NEW.deal_id, NEW.content, NEW.hash) IS DISTINCT FROM (OLD.deal_id, OLD.content, OLD.hash)
        OR OLD.published_at IS NOT NULL AND NEW.published_at IS DISTINCT FROM OLD.published_at)
    EXECUTE FUNCTION deal_posts_evidence();

CREATE OR REPLACE TRIGGER deal_post_looks_keep BEFORE UPDATE OR DELETE OR TRUNCATE ON deal_post_looks
    FOR EACH STATEMENT EXECUTE FUNCTION deal_posts_evidence();
