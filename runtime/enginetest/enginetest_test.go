package enginetest_test

import (
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/enginetest"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// spy is a test that may fail.
type spy struct {
	testing.TB
	mu   sync.Mutex
	said []string
}

func (s *spy) note(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = append(s.said, text)
}

func (s *spy) Error(args ...any) { s.note(fmt.Sprint(args...)) }

func (s *spy) Fatalf(format string, args ...any) {
	s.note(fmt.Sprintf(format, args...))
	runtime.Goexit()
}

// failing runs f, and returns what the test said that f failed.
func failing(t *testing.T, f func(t testing.TB)) string {
	t.Helper()
	s := &spy{TB: t}
	var done sync.WaitGroup
	done.Go(func() { f(s) })
	done.Wait()
	return strings.Join(s.said, "\n")
}

func newDeals(t testing.TB) *enginetest.Fake[*sql.Tx] {
	t.Helper()
	return enginetest.NewFake(t, deal.Define[*sql.Tx](nil, deal.DefaultParams()))
}

// TestDrainSaysWhatIsLeft: a handler that makes new work each time.
func TestDrainSaysWhatIsLeft(t *testing.T) {
	t.Parallel()
	deals := newDeals(t)
	e := enginetest.New(t, deals)
	n := 0
	create := func(fsm.Dispatch) (fsm.Payload, error) {
		n++
		_, err := e.Create(t.Context(), "deal", fmt.Sprintf("5f0c3a0e-0000-4000-8000-%012d", n), deal.Create{OwnerID: 8, PriceNano: 100},
			engine.Call{By: deal.ByAdvertiser(7).Caller()})
		return nil, err
	}
	deals.On("deal.events", create)
	if _, err := create(fsm.Dispatch{}); err != nil {
		t.Fatal(err)
	}
	said := failing(t, func(s testing.TB) { enginetest.Drain(s, e) })
	if want := fmt.Sprintf("deal 5f0c3a0e-0000-4000-8000-%012d: effect deal.events, pending, attempts: 0", n); !strings.Contains(said, want) {
		t.Errorf("it says %q, want %q", said, want)
	}
}

// TestAnEffectThatHasToAnswer: the test is told at once.
func TestAnEffectThatHasToAnswer(t *testing.T) {
	t.Parallel()
	var e *enginetest.Engine
	said := failing(t, func(s testing.TB) {
		e = enginetest.New(s, newDeals(s))
		accepted(t, e)
		enginetest.Drain(s, e)
	})
	if !strings.Contains(said, `call On("generate_deposit_address", ...)`) {
		t.Errorf("it says %q", said)
	}
	wants(t, e, deal.Accepted)
}

func TestAnEffectThatIsNotThere(t *testing.T) {
	t.Parallel()
	for _, on := range []func(*enginetest.Fake[*sql.Tx]){
		func(f *enginetest.Fake[*sql.Tx]) { f.On("notify", enginetest.Answer(nil)) },
		func(f *enginetest.Fake[*sql.Tx]) { f.OnQuery("notify", nil) },
	} {
		said := failing(t, func(s testing.TB) { on(newDeals(s)) })
		if !strings.Contains(said, "no effect notify; it has") || !strings.Contains(said, "notify_owner") {
			t.Errorf("it says %q", said)
		}
	}
}

// TestFakesOfEveryKind: an effect inside the transaction, and one that is asked for
// before it is repeated.
func TestFakesOfEveryKind(t *testing.T) {
	t.Parallel()
	deals := newDeals(t)
	deals.On("generate_deposit_address", enginetest.Answer(deal.AddressReady{DepositAddress: "EQ-1"}))
	e := enginetest.New(t, deals)
	accepted(t, e)
	enginetest.Drain(t, e)
	system := engine.Call{By: fsm.System()}
	paid := deal.DepositConfirmed{TxHash: "tx", AmountNano: 150}

	closed := errors.New("the ledger is closed")
	deals.On("ledger_deposit", enginetest.Fail(closed))
	if _, err := e.Fire(t.Context(), "deal", id.String(), paid, system); !errors.Is(err, closed) {
		t.Fatalf("the error is %v", err)
	}
	deals.On("ledger_deposit", nil)
	deals.On("refund_surplus", enginetest.Fail(errors.New("no answer")))
	deals.OnQuery("refund_surplus", func(d fsm.Dispatch) (fsm.Payload, bool, error) { return nil, d.Attempt > 1, nil })
	if _, err := e.Fire(t.Context(), "deal", id.String(), paid, system); err != nil {
		t.Fatal(err)
	}
	enginetest.Drain(t, e)
	e.Clock.Advance(time.Hour)
	enginetest.Drain(t, e)
	if calls, queries := len(deals.Calls("refund_surplus")), len(deals.Queries("")); calls != 1 || queries != 2 {
		t.Errorf("it was tried %d times and asked for %d times", calls, queries)
	}
	inTx := func(d fsm.Dispatch) bool { return d.Effect == "ledger_deposit" }
	if all := deals.Calls(""); !slices.ContainsFunc(all, inTx) || len(all) < 5 {
		t.Errorf("the calls are %v", all)
	}
}

func TestClock(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := enginetest.NewClock(start)
	c.Advance(time.Hour)
	if got := c.Now(); !got.Equal(start.Add(time.Hour)) {
		t.Errorf("it is %v", got)
	}
	c.Set(start)
	if got := c.Now(); !got.Equal(start) {
		t.Errorf("it is %v", got)
	}
}
