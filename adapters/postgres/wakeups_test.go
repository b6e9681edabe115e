package postgres

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// counting is a store that counts its claims.
type counting struct {
	*Store
	claims, found *atomic.Int64 // all of them; those that found something
}

// Claim claims and counts.
func (c counting) Claim(ctx context.Context, of store.Claim) ([]store.Task, error) {
	tasks, err := c.Store.Claim(ctx, of)
	c.claims.Add(1)
	if len(tasks) > 0 {
		c.found.Add(1)
	}
	return tasks, err
}

// handled is a machine whose messages a function carries out.
type handled struct {
	engine.Machine[pgx.Tx]
	handle func(d fsm.Dispatch)
}

// Handle calls the function.
func (h handled) Handle(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
	h.handle(d)
	return nil, nil
}

// fleet is engines, each in a process of its own as far as the database can tell, and
// one that only stores.
type fleet struct {
	claims, found atomic.Int64
	over          chan struct{} // a value for each message that was carried out and stored
	loader        *engine.Engine[pgx.Tx]
}

// newFleet starts so many workers, which carry out messages by handle.
func newFleet(t *testing.T, workers int, handle func(worker int)) *fleet {
	t.Helper()
	d := openDatabase(t)
	f := &fleet{over: make(chan struct{}, 1000)}
	config := engine.Config{PollInterval: time.Minute, Logger: slog.New(slog.DiscardHandler)}
	var err error
	f.loader, err = engine.New[pgx.Tx](d.store(t), config, deals())
	must(t, err)
	must(t, f.loader.Migrate(t.Context()))
	config.Trace = func(ctx context.Context, op engine.Operation) (context.Context, func(error)) {
		return ctx, func(error) {
			if op.Kind == engine.OpEffect {
				f.over <- struct{}{}
			}
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for n := range workers {
		s, err := New(d.newPool(t, func(c *pgxpool.Config) { c.MaxConns = 2 }), Options{Schema: d.schema})
		must(t, err)
		t.Cleanup(func() { _ = s.Close(context.Background()) }) // the test is over
		m := handled{deals(), func(fsm.Dispatch) { handle(n) }}
		e, err := engine.New[pgx.Tx](counting{s, &f.claims, &f.found}, config, m)
		must(t, err)
		running.Go(func() { _ = e.Run(ctx) }) // it returns nil
	}
	t.Cleanup(running.Wait)
	t.Cleanup(stop)
	return f
}

// create stores the n-th deal, and with it one message.
func (f *fleet) create(t *testing.T, n int) {
	t.Helper()
	_, err := f.loader.Create(t.Context(), "deal", id(n), deal.Create{OwnerID: 8, PriceNano: 100}, engine.Call{By: deal.ByAdvertiser(7).Caller()})
	must(t, err)
}

// trickle stores messages one after the other, each when the one before was carried out.
func (f *fleet) trickle(t *testing.T, messages int) {
	t.Helper()
	for n := range messages {
		f.create(t, n)
		<-f.over
	}
}

// TestWakeUpsDoNotStampede: twelve workers hear of each message, and few of them claim. A
// worker that finds nothing claims about once a second in the end.
func TestWakeUpsDoNotStampede(t *testing.T) {
	const workers, messages = 12, 200
	f := newFleet(t, workers, func(int) {})
	began := time.Now()
	f.trickle(t, messages)
	claims, seconds := f.claims.Load(), time.Since(began).Seconds()
	t.Logf("%d messages in %.1f s: %d claims, %d of them found something", messages, seconds, claims, f.found.Load())
	if most := 6*messages + workers*int64(2*seconds+20); claims > most {
		t.Errorf("%d messages took %d claims, want at most %d", messages, claims, most)
	}
}

// TestABurstSpreads: when the worker that got all messages so far has no free slot,
// the others wake up.
func TestABurstSpreads(t *testing.T) {
	const workers, before, burst = 4, 20, 50
	var mu sync.Mutex
	part := map[int]bool{}
	bursting, several := false, make(chan struct{})
	f := newFleet(t, workers, func(worker int) {
		mu.Lock()
		if bursting && !part[worker] {
			if part[worker] = true; len(part) == 2 {
				close(several)
			}
		}
		waits := bursting
		mu.Unlock()
		if waits {
			<-several
		}
	})
	f.trickle(t, before)
	mu.Lock()
	bursting = true
	mu.Unlock()
	for n := range burst {
		f.create(t, before+n)
	}
	for range burst {
		<-f.over
	}
}
