package posts

import (
	"context"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Verifier is the Delivery Verifier of document 003. Its method StartVerification carries out the
// effect of this name, and Run looks at the posts and fires what the looks show. If they show nothing,
// because the verifier was not running, it fires nothing, and the deal's own deadline leads on. It is
// safe for concurrent use, and any number of processes may run one on the same database.
type Verifier[T any] struct {
	loop[T]
	channel Channel
}

// NewVerifier returns a verifier. It starts nothing.
func NewVerifier[T any](store Store[T], table *Table[T], channel Channel, c Config) (*Verifier[T], error) {
	l, err := newLoop(store, table, c)
	if err != nil {
		return nil, err
	}
	return &Verifier[T]{l, channel}, nil
}

// StartVerification has the post of a deal looked at from now on. A post that is verified already
// stays as it is; one that was never published fails for good.
func (v *Verifier[T]) StartVerification(ctx context.Context, _ fsm.Dispatch, e deal.StartVerificationEffect) error {
	p, err := v.read(ctx, e.DealID)
	switch {
	case err != nil:
	case p.State == Published:
		_, err = v.move(ctx, p, change{to: Verifying, due: fsm.Some(v.now())})
	case !p.PublishedAt.IsSet:
		err = fmt.Errorf("%w: the post of deal %s is %s, so nothing can be verified", ErrRefused, e.DealID, p.State)
	}
	return final(err)
}

// Run looks at posts until ctx ends, and fires VERIFICATION_PASSED and VERIFICATION_FAILED.
func (v *Verifier[T]) Run(ctx context.Context, deals Deals) {
	v.run(ctx, "delivery verifier", func(ctx context.Context) (int, error) { return v.Round(ctx, deals) })
}

// Round looks once at the posts that are due, at most Config.Batch, and reports how many were. What
// fails is due again after Config.Retry; the error is for the log.
func (v *Verifier[T]) Round(ctx context.Context, deals Deals) (due int, err error) {
	return v.round(ctx, ofVerifier, func(ctx context.Context, p Post) error {
		if p.State == Verifying {
			return v.verify(ctx, deals, p)
		}
		return v.report(ctx, deals, p)
	})
}

// verify looks at a post whose deal still waits for the verdict.
func (v *Verifier[T]) verify(ctx context.Context, deals Deals, p Post) error {
	why, err := left(ctx, deals, p, deal.DeliveryVerifying)
	if err != nil {
		return err
	}
	if why != "" {
		v.Logger.InfoContext(ctx, "a post is not looked at any more: its deal has moved on", "deal", p.Deal, "reason", why)
		_, err := v.move(ctx, p, change{to: Dropped, reason: why})
		return err
	}
	at := v.now() // what is seen later was there now, or came later
	sight, err := v.channel.Look(ctx, p.key())
	if err != nil {
		return fmt.Errorf("posts: verify deal %s: %w", p.Deal, err)
	}
	decided, err := v.record(ctx, p, Look{at, sight})
	if err != nil || decided == Verifying {
		return err
	}
	p.State = decided
	return v.report(ctx, deals, p)
}

// record stores a look and what follows from it. It returns Verifying if another process has decided
// meanwhile.
func (v *Verifier[T]) record(ctx context.Context, p Post, l Look) (decided State, err error) {
	err = v.store.InTx(ctx, func(tx T) error {
		decided = Verifying
		// First of all, since it locks the post.
		if moved, err := v.table.move(ctx, tx, p.Deal, Verifying, change{to: Verifying, due: fsm.Some(v.next(p, l))}); err != nil || !moved {
			return err
		}
		looks, err := v.table.Looks(ctx, tx, p.Deal)
		if err != nil {
			return err
		}
		if n := len(looks); n > 0 && !looks[n-1].At.Before(l.At) {
			v.Logger.WarnContext(ctx, "a look is not recorded: it is not later than the last, so a clock went back", "deal", p.Deal, "now", l.At, "last", looks[n-1].At)
			return nil
		}
		if err := v.table.look(ctx, tx, p.Deal, l); err != nil {
			return fmt.Errorf("posts: record a look at deal %s: %w", p.Deal, err)
		}
		decided = verdict(p.PublishedAt.V, p.Hash, append(looks, l), v.Terms)
		if decided == Verifying {
			return nil
		}
		_, err = v.table.move(ctx, tx, p.Deal, Verifying, change{to: decided, due: p.Due})
		return err
	})
	return decided, err
}

// next is when the look after l is due: soon if l missed the post, and else not after the end of the
// retention, which needs a look of its own.
func (v *Verifier[T]) next(p Post, l Look) time.Time {
	if !l.shows(p.Hash) {
		return l.At.Add(v.Terms.Confirm)
	}
	next, end := l.At.Add(v.Every), p.PublishedAt.V.Add(v.Terms.Retention)
	if l.At.Before(end) && next.After(end) {
		return end
	}
	return next
}

// report fires what the looks have shown.
func (v *Verifier[T]) report(ctx context.Context, deals Deals, p Post) (err error) {
	reason := ""
	switch p.State {
	case Passed:
		reason, err = fireOnce(ctx, deals.VerificationPassed, deal.EventVerificationPassed, p)
	case Failed:
		reason, err = fireOnce(ctx, deals.VerificationFailed, deal.EventVerificationFailed, p)
	case Unproven:
		reason = "the looks leave a gap, or missed the post once: they show neither that it stayed nor that it did not"
	}
	if err != nil {
		return err
	}
	if reason != "" {
		v.Logger.WarnContext(ctx, "a verification ends without an event", "deal", p.Deal, "verdict", p.State, "reason", reason)
	}
	_, err = v.move(ctx, p, change{to: p.State, reason: reason})
	return err
}
