package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/fsmgen/fsmgen/generated/outbox"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Cancel gives up a message that waits for its first attempt or for a repeat. It is never
// attempted again, its failure fires no event, and it no longer blocks messages behind it. The
// message keeps who and why.
//
// A message that is being delivered, or is delivered, is a *fsm.Rejection; so is a dead letter,
// which Discard gives up. ErrConflict means that a worker claimed the message at the same time.
func (e *Engine[T]) Cancel(ctx context.Context, messageID, who, why string) error {
	if err := checkReason(who, why); err != nil {
		return fmt.Errorf("cancel message %s: %w", messageID, err)
	}
	err := e.resolve(ctx, "cancel", messageID, outbox.Cancel{Resolution: tidy(who + ": " + why)})
	var refused *fsm.Rejection
	if !errors.As(err, &refused) {
		return err
	}
	switch refused.State {
	case outbox.Delivering.String():
		return fmt.Errorf("%w: a worker carries it out: wait until its attempt, or its lease, has ended", err)
	case outbox.DeadLetter.String():
		return fmt.Errorf("%w: it is a dead letter: use Discard", err)
	}
	return err
}
