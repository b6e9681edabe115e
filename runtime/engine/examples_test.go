package engine_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"log/slog"

	"github.com/fsmgen/fsmgen/adapters/sqlite"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// dealID is the id of the deal of the examples.
var dealID = fsm.UUID{0x5f, 0x0c, 0x3a, 0x0e, 6: 0x40, 8: 0x80, 15: 1}

// offline is a service whose receiver of notifications is not there. The embedded interface stands
// for the handlers that the examples do not reach.
type offline struct{ deal.Handlers[*sql.Tx] }

func (offline) NotifyOwner(context.Context, fsm.Dispatch, deal.NotifyOwnerEffect) error {
	return &engine.PermanentError{Err: errors.New("no such address")}
}

func (offline) DealEvents(context.Context, fsm.Dispatch, deal.DealEventsEffect) error { return nil }

// newDeals returns an engine for deals on a temporary file, with one draft of a deal.
func newDeals(ctx context.Context) (e *engine.Engine[*sql.Tx], end func()) {
	store, err := sqlite.Temporary(ctx, sqlite.Options{})
	if err != nil {
		log.Fatal(err)
	}
	quiet := engine.Config{Logger: slog.New(slog.DiscardHandler)}
	e, err = engine.New(store, quiet, deal.Define[*sql.Tx](offline{}, deal.DefaultParams()))
	if err == nil {
		err = e.Migrate(ctx)
	}
	if err == nil {
		_, err = deal.In(e).Create(ctx, dealID, deal.Create{OwnerID: 8, PriceNano: 100}, deal.ByAdvertiser(7))
	}
	if err != nil {
		log.Fatal(err)
	}
	return e, func() { _ = store.Close() }
}

// Two events that belong together: both are stored, or none.
func ExampleEngine_Transact() {
	ctx := context.Background()
	e, end := newDeals(ctx)
	defer end()
	err := e.Transact(ctx, func(ctx context.Context, tx *engine.Tx[*sql.Tx]) error {
		if _, err := deal.Within(tx).SubmitOffer(ctx, dealID, deal.ByAdvertiser(7)); err != nil {
			return err
		}
		_, err := deal.Within(tx).Accept(ctx, dealID, deal.ByAdvertiser(7)) // that is the owner's to do
		return err
	})
	fmt.Println(errors.Is(err, fsm.ErrNotAllowed))
	now, err := deal.In(e).Get(ctx, dealID)
	fmt.Println(now.Record.State, err)
	// Output:
	// true
	// DRAFT <nil>
}

// What a user interface shows: the buttons of a caller, and why the others are grey.
func ExampleEngine_Legal() {
	ctx := context.Background()
	e, end := newDeals(ctx)
	defer end()
	verdicts, _, err := e.Legal(ctx, "deal", dealID.String(), deal.ByAdvertiser(7).Caller())
	if err != nil {
		log.Fatal(err)
	}
	for _, v := range verdicts {
		if v.Legal {
			fmt.Println(v.Event)
		}
	}
	// Output:
	// SUBMIT_OFFER
	// CANCEL
}

// The steps of a record, with who took them.
func ExampleEngine_History() {
	ctx := context.Background()
	e, end := newDeals(ctx)
	defer end()
	if _, err := deal.In(e).SubmitOffer(ctx, dealID, deal.ByAdvertiser(7)); err != nil {
		log.Fatal(err)
	}
	rows, err := e.History(ctx, "deal", dealID.String(), 0, 0)
	if err != nil {
		log.Fatal(err)
	}
	for _, row := range rows {
		fmt.Println(row.Version, row.Event, "by", row.By.Role, row.By.ID)
	}
	// Output:
	// 1 CREATE by advertiser 7
	// 2 SUBMIT_OFFER by advertiser 7
}

// An operator finds what was given up, and gives it its attempts again once the cause is gone.
func ExampleEngine_Requeue() {
	ctx := context.Background()
	e, end := newDeals(ctx)
	defer end()
	if _, err := deal.In(e).SubmitOffer(ctx, dealID, deal.ByAdvertiser(7)); err != nil {
		log.Fatal(err)
	}
	if _, err := e.Step(ctx); err != nil { // a service keeps Run going instead
		log.Fatal(err)
	}
	letters, err := e.DeadLetters(ctx, engine.Filter{Effect: "notify_owner"}, "", 0)
	if err != nil || len(letters) != 1 {
		log.Fatal(letters, err)
	}
	fmt.Println(letters[0].State, letters[0].LastError)
	fmt.Println(e.Requeue(ctx, letters[0].MessageID, "ann", "the address is there again"))
	// Output:
	// dead_letter no such address
	// <nil>
}

// While a destination is being repaired, nothing is sent to it.
func ExampleEngine_Pause() {
	ctx := context.Background()
	e, end := newDeals(ctx)
	defer end()
	notifications := engine.Scope{Machine: "deal", Effect: "notify_owner"}
	if err := e.Pause(ctx, notifications, "ann", "the receiver is being repaired"); err != nil {
		log.Fatal(err)
	}
	pauses, err := e.Pauses(ctx)
	fmt.Println(len(pauses), pauses[0].Scope, pauses[0].Who, err)
	fmt.Println(e.Unpause(ctx, notifications, "ann", "it works again"))
	fmt.Println(errors.Is(e.Unpause(ctx, notifications, "ann", "it works again"), engine.ErrNotPaused))
	// Output:
	// 1 effect notify_owner of machine deal ann <nil>
	// <nil>
	// true
}
