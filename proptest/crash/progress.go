package crash

import (
	"context"
	"fmt"
	"time"
)

// lastResort is how long a proof waits without any progress. It is longer than any
// computer is busy.
const lastResort = 5 * time.Minute

// await calls look until it is done or fails. It fails if the state that look returns has
// not changed for too long.
func await(ctx context.Context, stuck string, look func() (state any, done bool, err error)) error {
	for w := (watch{patience: lastResort}); ; {
		state, done, err := look()
		if done || err != nil {
			return err
		}
		if err := w.pause(ctx, stuck, state); err != nil {
			return err
		}
	}
}

// watch waits for something while there is progress.
type watch struct {
	patience time.Duration // how long nothing may change
	seen     string
	since    time.Time
}

// pause waits a little. It fails if the state has not changed for too long.
func (w *watch) pause(ctx context.Context, stuck string, state any) error {
	if now := fmt.Sprint(state); now != w.seen || w.since.IsZero() {
		w.seen, w.since = now, time.Now()
	}
	if time.Since(w.since) > w.patience {
		return fmt.Errorf("%s: nothing has changed for %s", stuck, w.patience)
	}
	select {
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", stuck, ctx.Err())
	case <-time.After(2 * time.Millisecond):
		return nil
	}
}
