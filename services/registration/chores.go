package registration

import (
	"context"
	"sync"
	"time"
)

// chores does what comes round again: heartbeats, reconciling, collecting.
func (s *Server) chores(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() {
		s.repeat(ctx, "heartbeat", func() (time.Duration, error) { return s.Heartbeat(ctx) })
	})
	all.Go(func() {
		rest(ctx, s.options.Collect.Reconcile)
		s.repeat(ctx, "reconcile", func() (time.Duration, error) { return s.options.Collect.Reconcile, s.Reconcile(ctx) })
	})
	all.Go(func() {
		rest(ctx, s.options.Collect.Every)
		s.repeat(ctx, "collect", func() (time.Duration, error) {
			_, err := s.GC(ctx)
			return s.options.Collect.Every, err
		})
	})
	all.Wait()
}

// repeat does a chore until ctx ends, each time after the pause that it named.
func (s *Server) repeat(ctx context.Context, name string, chore func() (time.Duration, error)) {
	for ctx.Err() == nil {
		pause, err := chore()
		if err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "a chore failed; it comes round again", "chore", name, "in", pause, "error", err)
		}
		rest(ctx, pause)
	}
}

// rest waits, or until ctx ends.
func rest(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
