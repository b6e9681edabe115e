package engine

import (
	"context"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// conflictRetry is the policy of RetryConflicts: within half a second, since the other writer has
// committed already.
var conflictRetry = fsm.RetryPolicy{First: 2 * time.Millisecond, Factor: 2, Max: 100 * time.Millisecond, Jitter: 0.5, Attempts: 9}

// RetryConflicts calls f, and repeats it while f returns ErrConflict, up to ten times in all. f
// must read the record and fire its event again each time. The waits in between grow and are
// random.
//
// RetryConflicts returns any other error at once. It never repeats after a *VersionError or a
// *fsm.Rejection, also if they are joined with ErrConflict, since the same call would be refused
// again. After the last attempt the error is still ErrConflict. If ctx ends during a wait, the
// error is that of ctx joined with that of the last call.
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

// retriable reports whether the same call may succeed if it is repeated.
func retriable(err error) bool {
	var refused *fsm.Rejection
	return errors.Is(err, ErrConflict) && !errors.Is(err, ErrVersion) && !errors.As(err, &refused)
}
