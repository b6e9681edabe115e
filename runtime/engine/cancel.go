package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/fsmgen/fsmgen/generated/outbox"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Cancel gives a message up that was not delivered yet and waits for its first attempt or
// for a repeat: it is never attempted again, its failure fires no event, and it blocks what
// is behind it in its lane no more. who and why are kept with it.
//
// A message that is under way, or done, is a *fsm.Rejection, as a dead letter is, which
// Discard gives up. One that a worker claims at the same time is ErrConflict.
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
		return fmt.Errorf("%w: a worker is at it: wait until its attempt, or its lease, has ended", err)
	case outbox.DeadLetter.String():
		return fmt.Errorf("%w: it is a dead letter: use Discard", err)
	}
	return err
}
