package posts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Scheduler is the Post Scheduler of document 003. Its methods EnablePublishing, SchedulePost,
// PublishPost and VerifyCallback carry out the effects of these names, and Run publishes what is due.
// A deal has one post, whose key in the channel is the id of the deal. It is safe for concurrent use,
// and any number of processes may run one on the same database and the same channel.
type Scheduler[T any] struct {
	loop[T]
	channel Channel
}

// NewScheduler returns a scheduler. It starts nothing.
func NewScheduler[T any](store Store[T], table *Table[T], channel Channel, c Config) (*Scheduler[T], error) {
	l, err := newLoop(store, table, c)
	if err != nil {
		return nil, err
	}
	return &Scheduler[T]{l, channel}, nil
}

// EnablePublishing keeps the content of a post. Another content for the same deal fails for good.
func (s *Scheduler[T]) EnablePublishing(ctx context.Context, _ fsm.Dispatch, e deal.EnablePublishingEffect) error {
	_, err := s.enable(ctx, e.DealID, e.Creative)
	return final(err)
}

// SchedulePost sets when a post is published. A time that has passed means at once. Another time
// for the same deal fails for good.
func (s *Scheduler[T]) SchedulePost(ctx context.Context, _ fsm.Dispatch, e deal.SchedulePostEffect) error {
	at := fsm.Some(fsm.Instant(e.PublishAt))
	p, err := s.enable(ctx, e.DealID, e.Creative)
	if err == nil && !p.PublishAt.IsSet {
		p, err = s.schedule(ctx, p, at)
	}
	if err == nil && (!p.PublishAt.IsSet || !p.PublishAt.V.Equal(at.V)) {
		err = fmt.Errorf("%w: the post of deal %s is %s, and can't be scheduled for %s", ErrConflict, e.DealID, p.State, at.V)
	}
	return final(err)
}

// schedule returns the post as it is afterwards: it may have been scheduled or published meanwhile.
func (s *Scheduler[T]) schedule(ctx context.Context, p Post, at fsm.Optional[time.Time]) (Post, error) {
	if p.State == Enabled {
		if _, err := s.move(ctx, p, change{to: Scheduled, publishAt: at, due: at}); err != nil {
			return Post{}, err
		}
	}
	return s.read(ctx, p.Deal)
}

// PublishPost publishes a post now. It answers START_VERIFICATION when the post is there. A post that
// was published before is not published again, whatever became of it. What the channel refuses fails
// for good, which is PUBLISH_FAILED.
func (s *Scheduler[T]) PublishPost(ctx context.Context, _ fsm.Dispatch, e deal.PublishPostEffect) (deal.PublishPostAnswer, error) {
	p, err := s.enable(ctx, e.DealID, e.Creative)
	switch {
	case err != nil:
		return nil, final(err)
	case p.PublishedAt.IsSet:
		return deal.StartVerification{}, nil
	case p.State == Refused:
		return nil, final(fmt.Errorf("%w: the post of deal %s was refused before: %s", ErrRefused, e.DealID, p.Reason))
	}
	switch recorded, err := s.publish(ctx, p, fsm.None[time.Time]()); {
	case err != nil:
		return nil, final(err)
	case !recorded:
		return nil, fmt.Errorf("posts: the post of deal %s was %s, and another process has changed that: try again", e.DealID, p.State)
	}
	return deal.StartVerification{}, nil
}

// ErrNotSeen is returned when a look does not find a post as it was published.
var ErrNotSeen = errors.New("posts: the post is not seen as it was published")

// VerifyCallback looks whether the post of a deal is there. If it is not, the effect is repeated by its
// policy before it fails, so that one wrong answer of the channel fails nothing.
func (s *Scheduler[T]) VerifyCallback(ctx context.Context, _ fsm.Dispatch, e deal.VerifyCallbackEffect) (deal.VerifyCallbackAnswer, error) {
	p, err := s.read(ctx, e.DealID)
	if err != nil {
		return nil, final(err)
	}
	sight, err := s.channel.Look(ctx, p.key())
	switch {
	case err != nil:
		return nil, fmt.Errorf("posts: confirm the post of deal %s: %w", e.DealID, err)
	case !p.PublishedAt.IsSet || !sight.shows(p.Hash):
		return nil, fmt.Errorf("%w: deal %s, whose post is %s: %+v", ErrNotSeen, e.DealID, p.State, sight)
	}
	return deal.StartVerification{}, nil
}

// Run publishes what is due until ctx ends, and fires AUTO_PUBLISHED.
func (s *Scheduler[T]) Run(ctx context.Context, deals Deals) {
	s.run(ctx, "post scheduler", func(ctx context.Context) (int, error) { return s.Round(ctx, deals) })
}

// Round publishes once what is due, at most Config.Batch posts, and reports how many were due. What
// fails is due again after Config.Retry; the error is for the log.
func (s *Scheduler[T]) Round(ctx context.Context, deals Deals) (due int, err error) {
	return s.round(ctx, ofScheduler, func(ctx context.Context, p Post) error {
		if p.State == Published {
			return s.announce(ctx, deals, p)
		}
		return s.auto(ctx, deals, p)
	})
}

// auto publishes a scheduled post whose deal still waits for it.
func (s *Scheduler[T]) auto(ctx context.Context, deals Deals, p Post) error {
	why, err := left(ctx, deals, p, deal.Scheduled)
	if err != nil {
		return err
	}
	if why != "" {
		s.Logger.WarnContext(ctx, "a post is not published: its deal has moved on", "deal", p.Deal, "reason", why)
		_, err := s.move(ctx, p, change{to: Dropped, reason: why})
		return err
	}
	published, err := s.publish(ctx, p, p.Due)
	if Permanent(err) { // the deal has no event for it, and its own deadline
		s.Logger.ErrorContext(ctx, "a scheduled post is refused", "deal", p.Deal, "error", err)
		return nil
	}
	if err != nil || !published {
		return err
	}
	p.State = Published
	return s.announce(ctx, deals, p)
}

// publish publishes a post and records it; what is refused is recorded, too. It reports whether this
// call has recorded the publication: another process may have been first.
func (s *Scheduler[T]) publish(ctx context.Context, p Post, due fsm.Optional[time.Time]) (recorded bool, err error) {
	err = s.channel.Publish(ctx, p.key(), []byte(p.Content))
	switch {
	case Permanent(err):
		_, unrecorded := s.move(ctx, p, change{to: Refused, reason: err.Error()})
		if unrecorded != nil {
			return false, unrecorded
		}
		return false, fmt.Errorf("posts: the post of deal %s: %w", p.Deal, err)
	case err != nil:
		return false, fmt.Errorf("posts: the post of deal %s: %w", p.Deal, err)
	}
	return s.move(ctx, p, change{to: Published, publishedAt: fsm.Some(s.now()), due: due})
}

// announce fires AUTO_PUBLISHED.
func (s *Scheduler[T]) announce(ctx context.Context, deals Deals, p Post) error {
	refusal, err := fireOnce(ctx, deals.AutoPublished, deal.EventAutoPublished, p)
	if err != nil {
		return err
	}
	if refusal != "" {
		s.Logger.WarnContext(ctx, "a post is published, and its deal has moved on", "deal", p.Deal, "reason", refusal)
	}
	_, err = s.move(ctx, p, change{to: Published, reason: refusal})
	return err
}

// enable keeps the content of a post, in a transaction of its own.
func (s *Scheduler[T]) enable(ctx context.Context, id fsm.UUID, creative fsm.Optional[fsm.JSON]) (p Post, err error) {
	content, err := contentOf(creative)
	if err != nil {
		return Post{}, fmt.Errorf("posts: the post of deal %s: %w", id, err)
	}
	err = s.store.InTx(ctx, func(tx T) error {
		p, err = s.table.enable(ctx, tx, id, content)
		return err
	})
	return p, err
}

// final marks an error that a repeat would meet again, for the engine.
func final(err error) error {
	if Permanent(err) {
		return &engine.PermanentError{Err: err}
	}
	return err
}

func errNoPost(deal fsm.UUID) error { return fmt.Errorf("%w: deal %s has no post", ErrRefused, deal) }
