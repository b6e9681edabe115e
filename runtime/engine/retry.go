package engine

import (
	"context"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// conflictRetry is how RetryConflicts repeats: within half a second, since the other
// writer has committed already.
var conflictRetry = fsm.RetryPolicy{First: 2 * time.Millisecond, Factor: 2, Max: 100 * time.Millisecond, Jitter: 0.5, Attempts: 9}

// RetryConflicts calls f, and calls it again, up to ten times in all, while its error
// is ErrConflict: another writer was first. f reads what it decides on and fires its
// event again each time. Waits in between grow and are random, so that two callers do
// not meet again.
//
// Any other error is returned as it is. A *VersionError and a *fsm.Rejection are
// never retried, whatever they are joined with: the same call would be refused again.
// When the attempts are used up, the error says so and is still ErrConflict. When ctx
// ends while RetryConflicts waits, the error is that of ctx and of the last call.
func RetryConflicts(ctx context.Context, f func(context.Context) error) error {
	for attempt := 1; ; attempt++ {
		err := f(ctx)
		if !retriable(err) {
			return err
		}
		wait, again := conflictRetry.Backoff(attempt, mathrand.Float64())
		if !again {
			return fmt.Errorf("after %d attempts: %w", attempt, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w while waiting to retry: %w", ctx.Err(), err)
		case <-time.After(wait):
		}
	}
}

// retriable reports whether the same call may succeed on what is there now.
func retriable(err error) bool {
	var refused *fsm.Rejection
	return errors.Is(err, store.ErrConflict) && !errors.Is(err, ErrVersion) && !errors.As(err, &refused)
}
