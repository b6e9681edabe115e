-- The posts of deals. due_at is when a post needs something next; while a process works on it, the
-- end of its lease; NULL: nothing.
CREATE TABLE IF NOT EXISTS deal_posts (
    deal_id      TEXT PRIMARY KEY NOT NULL,
    content      TEXT NOT NULL CHECK (content <> ''),
    hash         TEXT NOT NULL CHECK (length(hash) = 64 AND hash NOT GLOB '*[^0-9a-f]*'),
    state        TEXT NOT NULL CHECK (state IN ('enabled', 'scheduled', 'published', 'verifying', 'passed', 'failed', 'unproven', 'refused', 'dropped')),
    publish_at   TEXT,
    published_at TEXT,
    due_at       TEXT,
    reason       TEXT NOT NULL DEFAULT '',
    CHECK (state <> 'scheduled' OR publish_at IS NOT NULL),
    CHECK (state NOT IN ('published', 'verifying', 'passed', 'failed', 'unproven') OR published_at IS NOT NULL),
    CHECK (state NOT IN ('enabled', 'scheduled', 'refused') OR published_at IS NULL)
) STRICT;

CREATE INDEX IF NOT EXISTS deal_posts_due ON deal_posts (due_at) WHERE due_at IS NOT NULL;

-- What the verifier has seen. hash is empty where no post was seen, or none that has a hash.
CREATE TABLE IF NOT EXISTS deal_post_looks (
    deal_id   TEXT    NOT NULL REFERENCES deal_posts,
    looked_at TEXT    NOT NULL,
    seen      INTEGER NOT NULL CHECK (seen IN (0, 1)),
    hash      TEXT    NOT NULL CHECK (seen OR hash = ''),
    PRIMARY KEY (deal_id, looked_at)
) STRICT;

CREATE TRIGGER IF NOT EXISTS deal_posts_delete BEFORE DELETE ON deal_posts BEGIN
    SELECT RAISE(ABORT, 'deal_posts: what was published, when, and what was seen of it is evidence and does not change');
END;

CREATE TRIGGER IF NOT EXISTS deal_posts_once BEFORE UPDATE ON deal_posts
WHEN (NEW.deal_id, NEW.content, NEW.hash) IS NOT (OLD.deal_id, OLD.content, OLD.hash)
    OR OLD.published_at IS NOT NULL AND NEW.published_at IS NOT OLD.published_at BEGIN
    SELECT RAISE(ABORT, 'deal_posts: what was published, when, and what was seen of it is evidence and does not change');
END;

CREATE TRIGGER IF NOT EXISTS deal_post_looks_update BEFORE UPDATE ON deal_post_looks BEGIN
    SELECT RAISE(ABORT, 'deal_posts: what was published, when, and what was seen of it is evidence and does not change');
END;

CREATE TRIGGER IF NOT EXISTS deal_post_looks_delete BEFORE DELETE ON deal_post_looks BEGIN
    SELECT RAISE(ABORT, 'deal_posts: what was published, when, and what was seen of it is evidence and does not change');
END;

-- INSERT OR REPLACE would delete a look without the trigger above, unless recursive_triggers is on.
CREATE TRIGGER IF NOT EXISTS deal_post_looks_replace BEFORE INSERT ON deal_post_looks
WHEN EXISTS (SELECT 1 FROM deal_post_looks WHERE deal_id = NEW.deal_id AND looked_at = NEW.looked_at) BEGIN
    SELECT RAISE(ABORT, 'deal_posts: what was published, when, and what was seen of it is evidence and does not change');
END;

-- And so would one of a post.
CREATE TRIGGER IF NOT EXISTS deal_posts_replace BEFORE INSERT ON deal_posts
WHEN EXISTS (SELECT 1 FROM deal_posts WHERE deal_id = NEW.deal_id) BEGIN
    SELECT RAISE(ABORT, 'deal_posts: the deal has a post');
END;
