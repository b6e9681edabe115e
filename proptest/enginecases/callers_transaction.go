package enginecases

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/proptest/storetest"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func callersTransaction[Tx any]() []testCase[Tx] {
	return []testCase[Tx]{
		{"AStepJoinsIt", stepJoins[Tx]},
		{"NothingIsDeliveredBeforeItCommits", nothingBeforeCommit[Tx]},
		{"TheEngineCommitsIt", engineCommits[Tx]},
		{"AnotherInsideTransactIsRefused", nestedInTransact[Tx]},
		{"AnotherInsideAHandlerIsRefused", nestedInHandler[Tx]},
	}
}

// stepJoins writes a row of the caller in the transaction of a step. Both are committed
// or neither.
func stepJoins[Tx any](f *fixture[Tx]) {
	f.Must(f.Store.InTx(f.Context(), func(tx Tx) error { return f.Exec(f.Context(), tx, "CREATE TABLE entries (n integer NOT NULL)") }))
	id := f.mustCreate("deal", deal.Create{OwnerID: 8, PriceNano: 100}, storetest.Advertiser)
	both := func(n int, after error) error {
		return f.Store.InTx(f.Context(), func(tx Tx) error {
			if err := f.Exec(f.Context(), tx, fmt.Sprintf("INSERT INTO entries (n) VALUES (%d)", n)); err != nil {
				return err
			}
			_, err := f.engine.FireTx(f.Context(), tx, "deal", id, deal.SubmitOffer{}, engine.Call{By: storetest.Advertiser})
			return errors.Join(err, after)
		})
	}
	changed := errors.New("the caller changed its mind")
	f.WantError(both(1, changed), changed)
	f.WantCount("entries", 0)
	f.wantState("deal", id, "DRAFT", 1)
	f.Must(both(2, nil))
	f.WantCount("entries", 1)
	f.wantState("deal", id, "OFFER_PENDING", 2)
}

// lastResort is how long one call may take that can block for ever. No computer is busy
// for so long.
const lastResort = 5 * time.Minute

// nested makes every call that needs a transaction of its own with the context of one.
// Each is refused and changes nothing.
func (f *fixture[Tx]) nested(ctx context.Context, id string) {
	f.Helper()
	by := engine.Call{By: storetest.Advertiser}
	for name, call := range map[string]func(ctx context.Context) error{
		"Fire": func(ctx context.Context) error {
			_, err := f.engine.Fire(ctx, "deal", id, deal.SubmitOffer{}, by)
			return err
		},
		"Create": func(ctx context.Context) error {
			_, err := f.engine.Create(ctx, "deal", f.NewID(), deal.Create{OwnerID: 8, PriceNano: 100}, by)
			return err
		},
		"FireBatch": func(ctx context.Context) error {
			_, err := f.engine.FireBatch(ctx, []engine.Firing{{Machine: "deal", ID: id, Event: deal.SubmitOffer{}, Call: by}})
			return err
		},
		"Resume": func(ctx context.Context) error {
			_, err := f.engine.Resume(ctx, "deal", id, "ann", "to see")
			return err
		},
		"Migrate": f.engine.Migrate,
		"Requeue": func(ctx context.Context) error {
			return f.engine.Requeue(ctx, storetest.UUID(1).String(), "ann", "to see")
		},
		"Transact": func(ctx context.Context) error {
			return f.engine.Transact(ctx, func(context.Context, *engine.Tx[Tx]) error { return nil })
		},
	} {
		ctx, cancel := context.WithTimeout(ctx, lastResort) // a call that is not refused may block for ever
		if err := call(ctx); !errors.Is(err, engine.ErrNested) {
			f.Errorf("%s says %v", name, err)
		}
		cancel()
	}
	_, err := f.engine.Get(ctx, "deal", id) // reads what was stored before
	f.Must(err)
}

func nestedInTransact[Tx any](f *fixture[Tx]) {
	id := f.mustCreate("deal", deal.Create{OwnerID: 8, PriceNano: 100}, storetest.Advertiser)
	f.Must(f.engine.Transact(f.Context(), func(ctx context.Context, u *engine.Tx[Tx]) error {
		f.nested(ctx, id)
		_, err := u.Fire(ctx, "deal", id, deal.SubmitOffer{}, engine.Call{By: storetest.Advertiser})
		f.nested(ctx, id)
		return err
	}))
	f.wantState("deal", id, "OFFER_PENDING", 2)
	f.WantCount("deals", 1)
}

func nestedInHandler[Tx any](f *fixture[Tx]) {
	id, other := f.offered(), f.mustCreate("deal", deal.Create{OwnerID: 8, PriceNano: 100}, storetest.Advertiser)
	f.mustFire("deal", id, deal.Accept{}, storetest.Owner)
	f.mustFire("deal", id, deal.AddressReady{DepositAddress: "addr"}, fsm.System())
	f.handlers.inTx = func(ctx context.Context, tx Tx, _ fsm.Dispatch) error {
		f.nested(ctx, other)
		_, err := f.engine.FireTx(ctx, tx, "deal", other, deal.SubmitOffer{}, engine.Call{By: storetest.Advertiser})
		return err
	}
	f.Must(f.Store.InTx(f.Context(), func(tx Tx) error {
		_, err := f.engine.FireTx(f.Context(), tx, "deal", id, deposit(id, 100), engine.Call{By: fsm.System()})
		return err
	}))
	f.wantState("deal", id, "FUNDED", 5)
	f.wantState("deal", other, "OFFER_PENDING", 2)
	f.WantCount("deals", 2)
}

// engineCommits is stepJoins without a transaction of the caller: Transact commits
// several events of one record and a row of the caller, or nothing.
func engineCommits[Tx any](f *fixture[Tx]) {
	f.Must(f.Store.InTx(f.Context(), func(tx Tx) error { return f.Exec(f.Context(), tx, "CREATE TABLE entries (n integer NOT NULL)") }))
	id := f.NewID()
	all := func(n int, after error) error {
		return f.engine.Transact(f.Context(), func(ctx context.Context, u *engine.Tx[Tx]) error {
			if _, err := u.Create(ctx, "deal", id, deal.Create{OwnerID: 8, PriceNano: 100}, engine.Call{By: storetest.Advertiser}); err != nil {
				return err
			}
			if err := f.Exec(ctx, u.Tx, fmt.Sprintf("INSERT INTO entries (n) VALUES (%d)", n)); err != nil {
				return err
			}
			_, err := u.Fire(ctx, "deal", id, deal.SubmitOffer{}, engine.Call{By: storetest.Advertiser, IdempotencyKey: "offer"})
			return errors.Join(err, after)
		})
	}
	changed := errors.New("the caller changed its mind")
	f.WantError(all(1, changed), changed)
	f.WantCount("entries", 0)
	f.WantCount("deals", 0)
	f.Must(all(2, nil))
	f.WantCount("entries", 1)
	f.wantState("deal", id, "OFFER_PENDING", 2)
	f.WantError(all(3, nil), store.ErrExists)
	f.WantCount("entries", 1)
}

func nothingBeforeCommit[Tx any](f *fixture[Tx]) {
	id := f.mustCreate("deal", deal.Create{OwnerID: 8, PriceNano: 100}, storetest.Advertiser)
	f.stepAll()
	worker := f.newEngine(f.Reopen(f.T), f.config)
	f.Must(f.Store.InTx(f.Context(), func(tx Tx) error {
		if _, err := f.engine.FireTx(f.Context(), tx, "deal", id, deal.SubmitOffer{}, engine.Call{By: storetest.Advertiser}); err != nil {
			return err
		}
		n, err := worker.Step(f.Context())
		if n != 0 {
			f.Errorf("%d effects were delivered before the commit", n)
		}
		return err
	}))
	if n, err := worker.Step(f.Context()); err != nil || n == 0 {
		f.Fatalf("after the commit %d effects were delivered, %v", n, err)
	}
}
