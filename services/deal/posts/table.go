package posts

import (
	"context"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/deal/internal/sqltx"
)

// Table keeps the posts of deals and the looks at them, in transactions of type T. [Postgres] and
// [SQLite] make one.
type Table[T any] struct {
	schema string
	in     func(T) sqltx.Tx
}

// State is how far a post is.
type State string

// The states.
const (
	Enabled   State = "enabled"   // approved; no time is set
	Scheduled State = "scheduled" // is to be published at a time
	Published State = "published"
	Verifying State = "verifying" // is looked at until there is a verdict
	Passed    State = "passed"    // it has stayed as it was published
	Failed    State = "failed"    // it was changed or gone
	Unproven  State = "unproven"  // the time is over, and the looks show neither
	Refused   State = "refused"   // the channel does not take it
	Dropped   State = "dropped"   // its deal has moved on without it
)

// Post is the post of a deal.
type Post struct {
	Deal        fsm.UUID
	Content     string
	Hash        string // of the content
	State       State
	PublishAt   fsm.Optional[time.Time]
	PublishedAt fsm.Optional[time.Time] // when the publication was recorded: never before the post was there
	Due         fsm.Optional[time.Time] // when it needs something next, or the lease of what works on it ends
	Reason      string                  // why it was refused or dropped, or why its deal did not take its event; "": it was not
}

// key is the key of the post in its channel.
func (p Post) key() string { return p.Deal.String() }

// Migrate makes the tables where they are missing.
func (t *Table[T]) Migrate(ctx context.Context, tx T) error {
	if err := t.in(tx).Exec(ctx, t.schema); err != nil {
		return fmt.Errorf("posts: make the tables: %w", err)
	}
	return nil
}

const columns = "deal_id, content, hash, state, publish_at, published_at, due_at, reason"

// each reads the posts that a statement returns.
func (t *Table[T]) each(ctx context.Context, tx T, statement string, args ...any) (posts []Post, err error) {
	err = t.in(tx).Each(ctx, statement, args, func(scan func(...any) error) error {
		var p Post
		err := scan(fsm.Into(&p.Deal), &p.Content, &p.Hash, &p.State, fsm.Into(&p.PublishAt), fsm.Into(&p.PublishedAt), fsm.Into(&p.Due), &p.Reason)
		posts = append(posts, p)
		return err
	})
	return posts, err
}

// one is each for a statement that returns at most one post.
func (t *Table[T]) one(ctx context.Context, tx T, statement string, args ...any) (p Post, found bool, err error) {
	posts, err := t.each(ctx, tx, statement, args...)
	if err != nil || len(posts) == 0 {
		return Post{}, false, err
	}
	return posts[0], true, nil
}

// Post reads the post of a deal. It reports whether there is one.
func (t *Table[T]) Post(ctx context.Context, tx T, deal fsm.UUID) (p Post, found bool, err error) {
	p, found, err = t.one(ctx, tx, "SELECT "+columns+" FROM deal_posts WHERE deal_id = $1", deal.String())
	if err != nil {
		err = fmt.Errorf("posts: read the post of deal %s: %w", deal, err)
	}
	return p, found, err
}

// Looks reads the looks at the post of a deal, in the order of their times.
func (t *Table[T]) Looks(ctx context.Context, tx T, deal fsm.UUID) (looks []Look, err error) {
	const question = "SELECT looked_at, seen, hash FROM deal_post_looks WHERE deal_id = $1 ORDER BY looked_at"
	err = t.in(tx).Each(ctx, question, []any{deal.String()}, func(scan func(...any) error) error {
		var l Look
		err := scan(fsm.Into(&l.At), fsm.Into(&l.Seen), &l.Hash)
		looks = append(looks, l)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("posts: read the looks of deal %s: %w", deal, err)
	}
	return looks, nil
}

// enable inserts a post, or returns the one that is there. Another content is ErrConflict.
func (t *Table[T]) enable(ctx context.Context, tx T, deal fsm.UUID, content []byte) (Post, error) {
	p, found, err := t.Post(ctx, tx, deal)
	if err == nil && !found {
		err = t.in(tx).Exec(ctx, "INSERT INTO deal_posts (deal_id, content, hash, state) VALUES ($1, $2, $3, 'enabled') ON CONFLICT DO NOTHING",
			deal.String(), string(content), Hash(content))
		if err == nil {
			p, _, err = t.Post(ctx, tx, deal) // another transaction may have been first
		}
	}
	switch {
	case err != nil:
		return Post{}, fmt.Errorf("posts: keep the post of deal %s: %w", deal, err)
	case p.Content != string(content):
		return Post{}, fmt.Errorf("%w: deal %s has a post with the hash %s, and not %s", ErrConflict, deal, p.Hash, Hash(content))
	}
	return p, nil
}

// look inserts a look.
func (t *Table[T]) look(ctx context.Context, tx T, deal fsm.UUID, l Look) error {
	return t.in(tx).Exec(ctx, "INSERT INTO deal_post_looks (deal_id, looked_at, seen, hash) VALUES ($1, $2, $3, $4)",
		deal.String(), stamp(l.At), l.Seen, l.Hash)
}

// change is what becomes of a post.
type change struct {
	to          State
	publishAt   fsm.Optional[time.Time] // absent: as it is
	publishedAt fsm.Optional[time.Time] // absent: as it is
	due         fsm.Optional[time.Time] // absent: nothing is due
	reason      string
}

// move changes a post that is in a state, and reports whether it was. So of two processes that move
// it, one does.
func (t *Table[T]) move(ctx context.Context, tx T, deal fsm.UUID, from State, c change) (moved bool, err error) {
	const statement = `UPDATE deal_posts SET state = $3, publish_at = COALESCE($4, publish_at), published_at = COALESCE($5, published_at), due_at = $6, reason = $7
		WHERE deal_id = $1 AND state = $2 RETURNING ` + columns
	_, moved, err = t.one(ctx, tx, statement, deal.String(), string(from), string(c.to), optional(c.publishAt), optional(c.publishedAt), optional(c.due), c.reason)
	if err != nil {
		err = fmt.Errorf("posts: move the post of deal %s to %s: %w", deal, c.to, err)
	}
	return moved, err
}

// claim leases posts that are due: for the time of the lease no other claim returns them.
func (t *Table[T]) claim(ctx context.Context, tx T, of worker, now, until time.Time, most int) ([]Post, error) {
	statement := `UPDATE deal_posts SET due_at = $2 WHERE due_at <= $1 AND deal_id IN (
		SELECT deal_id FROM deal_posts WHERE due_at <= $1 AND state IN (` + string(of) + `) ORDER BY due_at LIMIT $3) RETURNING ` + columns
	posts, err := t.each(ctx, tx, statement, stamp(now), stamp(until), most)
	if err != nil {
		return nil, fmt.Errorf("posts: claim what is due: %w", err)
	}
	return posts, nil
}

// postpone ends a lease: the post is due again at a time. It does nothing if the lease is not the
// caller's any more.
func (t *Table[T]) postpone(ctx context.Context, tx T, p Post, until time.Time) error {
	err := t.in(tx).Exec(ctx, "UPDATE deal_posts SET due_at = $3 WHERE deal_id = $1 AND due_at = $2", p.Deal.String(), stamp(p.Due.V), stamp(until))
	if err != nil {
		return fmt.Errorf("posts: postpone the post of deal %s: %w", p.Deal, err)
	}
	return nil
}

// worker names the states in which a post is the work of the scheduler or of the verifier.
type worker string

const (
	ofScheduler worker = "'scheduled', 'published'"
	ofVerifier  worker = "'verifying', 'passed', 'failed', 'unproven'"
)

// stamp is a time as both databases take it.
func stamp(t time.Time) string { return fsm.Instant(t).Format(fsm.TimeLayout) }

func optional(t fsm.Optional[time.Time]) any {
	if !t.IsSet {
		return nil
	}
	return stamp(t.V)
}
