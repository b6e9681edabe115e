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
	"github.com/fsmgen/fsmgen/internal/progress"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// clientLoad is clients that fire events, each with a key of its own, while the server is
// killed and restarted.
type clientLoad[Tx any] struct {
	*workerProcess[Tx]
	run      *run
	middle   int64         // after so many accepted events the server is killed
	reached  chan struct{} // closed then
	back     chan struct{} // closed when the server is back
	accepted atomic.Int64
	unknown  atomic.Int64 // firings that may have happened
	happened atomic.Int64 // of them: those that had
}

const (
	loadTag     = "server_kill"
	loadRecords = 16
	loadEvents  = 12 // of each client
)

// KillServer lets clients fire events of a few records, with workers that deliver the
// messages, and calls crash in the middle, which kills and restarts the server. A client
// that does not know the outcome of an event repeats it with its key. The checker then
// finds every accepted event once, and its messages delivered.
func KillServer[Tx any](t *testing.T, d Database[Tx], clients int, crash func()) {
	subject := Subject{Machines: []Member{Fixed(publish.Define[any](nil), publish.Transitions())}}
	all, err := subject.define(nil)
	if err != nil {
		t.Fatal(err)
	}
	db := prepare(t, d, all)
	dir := t.TempDir()
	p := plan{Runs: []plannedRun{{Tag: loadTag}}}
	st, closeProcess, err := openWorkerProcess(t.Context(), d, subject, p, dir, &failpoints{}, wallClock{}, engine.Config{
		Worker: "server_kill", Lease: 3 * time.Second, PollInterval: 20 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	l := &clientLoad[Tx]{workerProcess: st, middle: int64(clients * loadEvents / 2), reached: make(chan struct{}), back: make(chan struct{})}
	if l.run, err = l.runOf(loadTag); err != nil {
		t.Fatal(err)
	}
	err = errors.Join(l.execute(t.Context(), clients, crash), l.run.write(entry{Entry: ended}), closeProcess())
	if err != nil {
		t.Fatal(err)
	}
	c := checkDatabase(t, db, all, p, dir)
	c.keyed()
	if n := len(c.facts.Steps) - loadRecords; n != clients*loadEvents {
		t.Errorf("%d events are in the histories, want %d", n, clients*loadEvents)
	}
	if l.unknown.Load() == 0 {
		t.Error("no call was open when the server was killed")
	}
	if !t.Failed() {
		Count(t, "server killed under %d clients: each of %d events happened once, %d of which had an unknown outcome and %d of these had happened; each of %d messages was delivered",
			clients, clients*loadEvents, l.unknown.Load(), l.happened.Load(), len(c.facts.Messages))
	}
}

// execute runs the clients until every message is delivered.
func (l *clientLoad[Tx]) execute(ctx context.Context, clients int, crash func()) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := l.create(ctx); err != nil {
		return err
	}
	working, stop := context.WithCancel(ctx)
	defer stop()
	var workers, callers sync.WaitGroup
	failures := make([]error, clients)
	for range 2 {
		workers.Go(func() { _ = l.engine.Run(working) }) // never fails
	}
	for client := range clients {
		callers.Go(func() { failures[client] = l.call(ctx, client) })
	}
	ended := make(chan struct{})
	go func() {
		callers.Wait()
		close(ended)
	}()
	err := l.comeTo(ctx, l.reached)
	if err == nil {
		// Deliveries are interrupted like those of a process that dies.
		err = l.run.write(entry{Entry: killedHere})
		crash()
	}
	close(l.back)
	if err == nil {
		err = l.comeTo(ctx, ended)
	}
	if err != nil {
		cancel()
	}
	<-ended
	if err = errors.Join(append(failures, err)...); err == nil {
		err = l.delivered(ctx)
	}
	stop()
	workers.Wait()
	return err
}

// create creates the records.
func (l *clientLoad[Tx]) create(ctx context.Context) error {
	for i := range loadRecords {
		ctx, cancel := context.WithTimeout(ctx, lastResort)
		err := l.retry(ctx, l.engine.Create, i, fmt.Sprint("create ", i), publish.Create{})
		if cancel(); err != nil {
			return err
		}
	}
	return nil
}

// comeTo waits until the clients have come to a point.
func (l *clientLoad[Tx]) comeTo(ctx context.Context, point <-chan struct{}) error {
	return progress.Await(ctx, "the clients to get further", func() (state any, done bool, err error) {
		select {
		case <-point:
			return nil, true, nil
		default:
			return [2]int64{l.accepted.Load(), l.unknown.Load()}, false, nil
		}
	})
}

// call is what one client does.
func (l *clientLoad[Tx]) call(ctx context.Context, client int) error {
	for i := range loadEvents {
		event := publish.PublishVersion{Policy: publish.PolicyQuarantine, Digest: fmt.Sprint(client, "/", i)}
		if err := l.retry(ctx, l.engine.Fire, client%loadRecords, fmt.Sprint(client, "/", i), event); err != nil {
			return err
		}
	}
	return nil
}

// retry fires an event until it is accepted.
func (l *clientLoad[Tx]) retry(
	ctx context.Context, act func(context.Context, string, string, fsm.Payload, engine.Call) (engine.Outcome, error),
	record int, key string, event fsm.Payload,
) error {
	id := fmt.Sprintf("00000000-0000-4000-8000-%012x", record)
	lost := false
	for ctx.Err() == nil {
		o, err := act(ctx, "publish", id, event, engine.Call{IdempotencyKey: key, Correlation: loadTag})
		switch {
		case errors.Is(err, store.ErrStore):
			if !lost {
				l.unknown.Add(1)
			}
			lost = true
			select {
			case <-l.back:
			case <-ctx.Done():
			}
			continue
		case errors.Is(err, store.ErrConflict): // another client of this record was first
			continue
		case err != nil:
			return err
		}
		if o.Replayed {
			l.happened.Add(1)
		}
		if l.accepted.Add(1) == l.middle {
			close(l.reached)
		}
		return l.run.write(entry{
			Entry: accepted, Machine: "publish", Record: id, Event: event.EventName(), Key: key, Version: o.Version,
		})
	}
	return ctx.Err()
}

// delivered waits until every message is delivered.
func (l *clientLoad[Tx]) delivered(ctx context.Context) error {
	return progress.Await(ctx, "the delivery of every message", func() (state any, done bool, err error) {
		var n int
		err = l.sql.QueryRowContext(ctx, "SELECT count(*) FROM fsm_outbox WHERE state <> 'delivered'").Scan(&n)
		return n, n == 0, err
	})
}
