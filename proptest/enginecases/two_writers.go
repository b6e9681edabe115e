package enginecases

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/generated/wal"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/proptest/storetest"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func twoWriters[Tx any]() []testCase[Tx] {
	return []testCase[Tx]{
		{"ExactlyOneCommitsAndTheOthersGetTheState", exactlyOne[Tx]},
		{"AWorkerThatLostItsLeaseCompletesNothing", slowWorker[Tx]},
	}
}

func exactlyOne[Tx any](f *fixture[Tx]) {
	worker := wal.ByWorker("w-1").Caller()
	id := f.mustCreate("wal", wal.Discover{Dataset: "d", ObjectURI: "s3://a", TimeRangeStart: storetest.StartTime}, worker)
	won := f.Concurrently(func(db store.Store[Tx], i int) error {
		_, err := f.newEngine(db, f.config).Fire(f.Context(), "wal", id, wal.Claim{}, engine.Call{By: worker})
		var conflict *store.ConflictError
		var rejection *fsm.Rejection
		switch {
		case errors.As(err, &conflict) && conflict.Version == 2 && conflict.State == "in_progress",
			errors.As(err, &rejection) && rejection.State == "in_progress":
			return store.ErrConflict // it names the present state
		case errors.Is(err, store.ErrConflict):
			return fmt.Errorf("it does not say what is there: %s", err.Error())
		}
		return err
	}, store.ErrConflict)
	if won != 1 {
		f.Fatalf("the record was claimed %d times", won)
	}
	f.wantState("wal", id, "in_progress", 2)
}

// slowWorker has a handler run past the end of its lease. Another worker takes over and
// completes the work. The answer of the first is ignored.
func slowWorker[Tx any](f *fixture[Tx]) {
	id := f.offered()
	f.mustFire("deal", id, deal.Accept{}, storetest.Owner)
	other := f.newEngine(f.Reopen(f.T), f.config)
	f.handlers.set("generate_deposit_address", func(ctx context.Context, d fsm.Dispatch) (*fsm.Event, error) {
		if d.Attempt > 1 {
			return event(deal.AddressReady{DepositAddress: "awake"})
		}
		f.advance(2 * time.Minute)
		_, err := other.Step(f.Context())
		f.Must(err)
		return event(deal.AddressReady{DepositAddress: "asleep"})
	})
	f.stepAll()
	f.wantCalls("generate_deposit_address", 2)
	f.wantState("deal", id, "AWAITING_PAYMENT", 4)
	f.WantCount("deals WHERE deposit_address = 'awake'", 1)
}
