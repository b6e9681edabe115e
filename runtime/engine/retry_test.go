package engine_test

import (
	"context"
	"errors"
	"testing"

	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

func TestRetryConflicts(t *testing.T) {
	conflict, mine := &engine.ConflictError{Machine: "deal", ID: "1", Expected: 2}, errors.New("mine")
	for name, tt := range map[string]struct {
		answers []error // of the calls in turn; the last one of all further calls
		calls   int
		want    error
	}{
		"success":                      {[]error{nil}, 1, nil},
		"two conflicts":                {[]error{conflict, conflict, nil}, 3, nil},
		"another error":                {[]error{conflict, mine}, 2, mine},
		"conflicts for ever":           {[]error{conflict}, 10, engine.ErrConflict},
		"another version":              {[]error{&engine.VersionError{}}, 1, engine.ErrVersion},
		"a conflict beside a version":  {[]error{errors.Join(conflict, &engine.VersionError{})}, 1, engine.ErrVersion},
		"a conflict beside a refusal":  {[]error{errors.Join(conflict, &fsm.Rejection{Reason: fsm.ErrGuardFailed})}, 1, fsm.ErrGuardFailed},
		"an event that is not allowed": {[]error{&fsm.Rejection{Reason: fsm.ErrNotAllowed}}, 1, fsm.ErrNotAllowed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			err := engine.RetryConflicts(t.Context(), func(context.Context) error {
				calls++
				return tt.answers[min(calls, len(tt.answers))-1]
			})
			if !errors.Is(err, tt.want) || calls != tt.calls {
				t.Errorf("%d calls and %v, want %d and %v", calls, err, tt.calls, tt.want)
			}
		})
	}
}

// TestRetryConflictsEndsWithItsContext: the error says both why it ended and what was
// being retried.
func TestRetryConflictsEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	err := engine.RetryConflicts(ctx, func(context.Context) error {
		calls++
		cancel()
		return &engine.ConflictError{Machine: "deal", ID: "1"}
	})
	// The wait may end before the context is looked at.
	if !errors.Is(err, engine.ErrConflict) || calls < 10 && !errors.Is(err, context.Canceled) {
		t.Errorf("%d calls and %v", calls, err)
	}
}
