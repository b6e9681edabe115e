// Package progress waits, in tests, for what other goroutines and processes do.
// It gives up only when nothing has changed for a long time. That time is counted
// in looks, not in seconds: a look on a slow machine takes longer, and a machine
// that stands still takes none.
package progress

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// ErrStuck is returned by Watch.Pause when nothing has changed for a long time.
var ErrStuck = errors.New("nothing has changed for a long time")

// patience is how long nothing may change, on a machine where a look takes no time.
const patience = 10 * time.Minute

// The pauses of a test that polls, and of one that a channel wakes.
const (
	pollPause    = 2 * time.Millisecond
	receivePause = 100 * time.Millisecond
)

// Watch counts the looks since something changed. The zero Watch is ready for use.
// It is not safe for concurrent use.
type Watch struct {
	seen  string
	looks int // since seen changed
}

// Pause waits a moment. It returns ErrStuck when all of the last looks saw the same
// state, and the error of ctx when that is done.
func (w *Watch) Pause(ctx context.Context, state any) error {
	if w.stuck(state, pollPause) {
		return fmt.Errorf("%w: %s", ErrStuck, w.seen)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(pollPause):
		return nil
	}
}

// stuck counts one look, at the end of which the caller pauses. It reports whether
// there were as many of the same state as there are pauses in the patience.
func (w *Watch) stuck(state any, pause time.Duration) bool {
	if now := fmt.Sprint(state); now != w.seen {
		w.seen, w.looks = now, 0
	}
	w.looks++
	return w.looks > int(patience/pause)
}

// Await calls look until it reports that it is done. It returns the error of look,
// ErrStuck when the state that look returns stays the same for a long time, and the
// error of ctx when that is done.
func Await(ctx context.Context, what string, look func() (state any, done bool, err error)) error {
	var w Watch
	for {
		state, done, err := look()
		if err == nil && !done {
			err = w.Pause(ctx, state)
		}
		if err != nil {
			return fmt.Errorf("waiting for %s: %w", what, err)
		}
		if done {
			return nil
		}
	}
}

// Until is Await for a test, which fails when Await does. It must be called by the
// goroutine of the test.
func Until(t testing.TB, what string, look func() (state any, done bool)) {
	t.Helper()
	err := Await(t.Context(), what, func() (any, bool, error) {
		state, done := look()
		return state, done, nil
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// Receive returns what the channel delivers, or the zero value when it is closed.
// It fails the test when nothing comes for a long time. It must be called by the
// goroutine of the test.
func Receive[V any](t testing.TB, what string, from <-chan V) V {
	t.Helper()
	look := time.NewTicker(receivePause) // a tick that comes too late counts once
	defer look.Stop()
	for w := (Watch{}); ; {
		select {
		case v := <-from:
			return v
		case <-look.C:
			if w.stuck(nil, receivePause) {
				t.Fatalf("waiting for %s: %v", what, ErrStuck)
			}
		}
	}
}
