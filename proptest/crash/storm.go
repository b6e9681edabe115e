package crash

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/generated/publish"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// storm is clients that fire, each event with a key of its own, while the server
// is killed and comes back.
type storm[Tx any] struct {
	*stage[Tx]
	play     *play
	middle   int64         // after so many accepted events the server is killed
	reached  chan struct{} // closed then
	back     chan struct{} // closed when the server is back
	accepted atomic.Int64
	unknown  atomic.Int64 // firings that may have happened
	happened atomic.Int64 // of them: those that had
}

const (
	stormTag     = "storm"
	stormRecords = 16
	stormEvents  = 12 // of each client
)

// Storm lets clients fire at a few records, with workers that deliver what comes
// of it, and calls crash in the middle: it kills the server and brings it back.
// Who does not know what became of an event repeats it with its key. The judge
// then finds every event that was accepted once, and its effects delivered.
func Storm[Tx any](t *testing.T, d Database[Tx], clients int, crash func()) {
	subject := Subject{Machines: []Member{Fixed(publish.Define[any](nil), publish.Transitions())}}
	all, err := subject.define(nil)
	if err != nil {
		t.Fatal(err)
	}
	db := prepare(t, d, all)
	dir := t.TempDir()
	p := plan{Scenarios: []scenario{{Tag: stormTag}}}
	st, closeStage, err := openStage(t.Context(), d, subject, p, dir, &cutter{}, wallClock{}, engine.Config{
		Worker: "storm", Lease: 3 * time.Second, PollInterval: 20 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &storm[Tx]{stage: st, middle: int64(clients * stormEvents / 2), reached: make(chan struct{}), back: make(chan struct{})}
	if s.play, err = s.playOf(stormTag); err != nil {
		t.Fatal(err)
	}
	err = errors.Join(s.rage(t.Context(), clients, crash), s.play.write(entry{Entry: ended}), closeStage())
	if err != nil {
		t.Fatal(err)
	}
	j := verdict(t, db, all, p, dir)
	j.keyed()
	if n := len(j.facts.history) - stormRecords; n != clients*stormEvents {
		t.Errorf("%d events are in the histories, want %d", n, clients*stormEvents)
	}
	if s.unknown.Load() == 0 {
		t.Error("the crash hit nobody")
	}
	if !t.Failed() {
		Count(t, "server killed under %d clients: each of %d events happened once, %d of which had an unknown outcome and %d of these had happened; each of %d messages was delivered",
			clients, clients*stormEvents, s.unknown.Load(), s.happened.Load(), len(j.facts.outbox))
	}
}

// rage is the storm, from its beginning until there is nothing left to deliver.
func (s *storm[Tx]) rage(ctx context.Context, clients int, crash func()) error {
	ctx, cancel := context.WithTimeout(ctx, lastResort)
	defer cancel()
	for i := range stormRecords {
		if err := s.insist(ctx, s.engine.Create, i, fmt.Sprint("create ", i), publish.Create{}); err != nil {
			return err
		}
	}
	working, stop := context.WithCancel(ctx)
	defer stop()
	var workers, callers sync.WaitGroup
	failures := make([]error, clients)
	for range 2 {
		workers.Go(func() { _ = s.engine.Run(working) }) // never fails
	}
	for client := range clients {
		callers.Go(func() { failures[client] = s.call(ctx, client) })
	}
	var err error
	select {
	case <-s.reached:
		// Deliveries are cut like those of a process that dies.
		err = s.play.write(entry{Entry: cutHere})
		crash()
	case <-ctx.Done():
	}
	close(s.back)
	callers.Wait()
	if err = errors.Join(append(failures, err)...); err == nil {
		err = s.delivered(ctx)
	}
	stop()
	workers.Wait()
	return err
}

// call is what one client does.
func (s *storm[Tx]) call(ctx context.Context, client int) error {
	for i := range stormEvents {
		event := publish.PublishVersion{Policy: publish.PolicyQuarantine, Digest: fmt.Sprint(client, "/", i)}
		if err := s.insist(ctx, s.engine.Fire, client%stormRecords, fmt.Sprint(client, "/", i), event); err != nil {
			return err
		}
	}
	return nil
}

// insist fires until it knows that the event was accepted.
func (s *storm[Tx]) insist(
	ctx context.Context, act func(context.Context, string, string, fsm.Payload, engine.Call) (engine.Outcome, error),
	record int, key string, event fsm.Payload,
) error {
	id := fmt.Sprintf("00000000-0000-4000-8000-%012x", record)
	lost := false
	for ctx.Err() == nil {
		o, err := act(ctx, "publish", id, event, engine.Call{IdempotencyKey: key, Correlation: stormTag})
		switch {
		case errors.Is(err, store.ErrStore):
			if !lost {
				s.unknown.Add(1)
			}
			lost = true
			select {
			case <-s.back:
			case <-ctx.Done():
			}
			continue
		case errors.Is(err, store.ErrConflict): // another client of this record was first
			continue
		case err != nil:
			return err
		}
		if o.Replayed {
			s.happened.Add(1)
		}
		if s.accepted.Add(1) == s.middle {
			close(s.reached)
		}
		return s.play.write(entry{
			Entry: accepted, Machine: "publish", Record: id, Event: event.EventName(), Key: key, Version: o.Version,
		})
	}
	return ctx.Err()
}

// delivered waits until every message is.
func (s *storm[Tx]) delivered(ctx context.Context) error {
	for {
		var n int
		err := s.sql.QueryRowContext(ctx, "SELECT count(*) FROM fsm_outbox WHERE state <> 'delivered'").Scan(&n)
		if err != nil || n == 0 {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}
