package engine_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/enginetest"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// lockLog is a Locker that notes its calls. The next calls of Lock fail as fails says.
type lockLog struct {
	engine.ProcessLocker
	mu    sync.Mutex
	calls []string
	fails []error
}

func (l *lockLog) note(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, fmt.Sprintf(format, args...))
}

func (l *lockLog) Lock(ctx context.Context, key string, ttl time.Duration) (engine.Lock, error) {
	l.note("lock %s for %s", key, ttl)
	if len(l.fails) > 0 {
		err := l.fails[0]
		l.fails = l.fails[1:]
		return nil, err
	}
	held, err := l.ProcessLocker.Lock(ctx, key, ttl)
	return &notedLock{held, l}, err
}

type notedLock struct {
	engine.Lock
	log *lockLog
}

func (h *notedLock) Extend(ctx context.Context, ttl time.Duration) error {
	h.log.note("extend for %s", ttl)
	return h.Lock.Extend(ctx, ttl)
}

func (h *notedLock) Unlock(ctx context.Context) error {
	h.log.note("unlock")
	return h.Lock.Unlock(ctx)
}

// refunding is a cancelled deal that has to return a deposit. The spec declares a lock around that.
func refunding(t *testing.T, locker engine.Locker, without engine.WithoutLock, refund enginetest.Handler) (*enginetest.Engine, map[string]int) {
	t.Helper()
	fake := enginetest.NewFake(t, deal.Define[*sql.Tx](nil, deal.DefaultParams()))
	fake.On("refund_deposit", refund)
	var mu sync.Mutex
	outcomes := map[string]int{}
	e := enginetest.NewWith(t, engine.Config{Locker: locker, WithoutLock: without, Metrics: func(m engine.Metric) {
		if m.Name == engine.MetricLocks {
			mu.Lock()
			defer mu.Unlock()
			outcomes[m.Labels[1].Value]++
		}
	}}, fake)
	deals := deal.In(e)
	id := fsm.UUID{1}
	_, created := deals.Create(t.Context(), id, deal.Create{OwnerID: 8, PriceNano: 100}, deal.ByAdvertiser(7))
	_, cancelled := deals.Cancel(t.Context(), id, deal.ByAdvertiser(7))
	_, late := deals.DepositConfirmed(t.Context(), id, deal.DepositConfirmed{TxHash: "tx-1", AmountNano: 100}, deal.BySystem())
	if err := errors.Join(created, cancelled, late); err != nil {
		t.Fatal(err)
	}
	return e, outcomes
}

const refundLock = "lock lock:deal:01000000-0000-0000-0000-000000000000:transition for 30s"

// TestAnEffectHoldsItsLock: the lock of the spec is taken before the effect, extended while it is
// carried out, and released after it.
func TestAnEffectHoldsItsLock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &lockLog{}
		e, outcomes := refunding(t, log, "", func(fsm.Dispatch) (fsm.Payload, error) {
			log.note("begin")
			time.Sleep(25 * time.Second) // of the bubble's clock
			log.note("end")
			return nil, nil
		})
		enginetest.Drain(t, e)
		want := []string{refundLock, "begin", "extend for 30s", "extend for 30s", "end", "unlock"}
		if !slices.Equal(log.calls, want) {
			t.Errorf("the calls are %q, want %q", log.calls, want)
		}
		if outcomes["taken"] != 1 || len(outcomes) != 1 {
			t.Errorf("the outcomes are %v", outcomes)
		}
	})
}

// TestLocksThatCanNotBeReached: the effect is carried out without its lock, or waits for it, as the
// configuration says; both are counted.
func TestLocksThatCanNotBeReached(t *testing.T) {
	t.Parallel()
	for without, want := range map[engine.WithoutLock]map[string]int{
		"":             {"unreachable": 1},
		engine.Proceed: {"unreachable": 1},
		engine.Wait:    {"waited": 2, "taken": 1},
	} {
		t.Run(string(without), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := &lockLog{fails: []error{errors.New("no route to host"), errors.New("no route to host")}}
				refunds := 0
				e, outcomes := refunding(t, log, without, func(fsm.Dispatch) (fsm.Payload, error) { refunds++; return nil, nil })
				enginetest.Drain(t, e)
				if refunds != 1 || fmt.Sprint(outcomes) != fmt.Sprint(want) {
					t.Errorf("%d refunds; the outcomes are %v, want %v", refunds, outcomes, want)
				}
			})
		})
	}
}

// TestALostLockHarmsNothing: the lock expires while its effect is carried out, and another takes it.
// The effect ends as it would have.
func TestALostLockHarmsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &lockLog{}
		refunds := 0
		e, outcomes := refunding(t, lost{log}, "", func(fsm.Dispatch) (fsm.Payload, error) {
			time.Sleep(25 * time.Second) // of the bubble's clock
			refunds++
			return nil, nil
		})
		enginetest.Drain(t, e)
		if refunds != 1 || outcomes["lost"] != 1 {
			t.Errorf("%d refunds; the outcomes are %v", refunds, outcomes)
		}
	})
}

// lost has locks that are lost as soon as they are taken.
type lost struct{ *lockLog }

func (l lost) Lock(ctx context.Context, key string, ttl time.Duration) (engine.Lock, error) {
	held, err := l.lockLog.Lock(ctx, key, ttl)
	return lostLock{held}, err
}

type lostLock struct{ engine.Lock }

func (lostLock) Extend(context.Context, time.Duration) error { return engine.ErrLockLost }

// TestAWaitForALockEnds: a worker that is stopped while it waits for a lock has not begun the effect.
func TestAWaitForALockEnds(t *testing.T) {
	t.Parallel()
	log := &lockLog{}
	e, _ := refunding(t, log, "", func(fsm.Dispatch) (fsm.Payload, error) {
		t.Error("the effect was carried out")
		return nil, nil
	})
	key := strings.TrimSuffix(strings.TrimPrefix(refundLock, "lock "), " for 30s")
	if _, err := log.ProcessLocker.Lock(t.Context(), key, time.Hour); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := e.Step(ctx)
		ended <- err
	}()
	for { // until the worker waits
		log.mu.Lock()
		waits := slices.Contains(log.calls, refundLock)
		log.mu.Unlock()
		if waits {
			break
		}
		time.Sleep(time.Millisecond)
	}
	stop()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
