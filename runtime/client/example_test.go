package client_test

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

// newDeals returns the client of deals on a temporary file, which end removes.
func newDeals(ctx context.Context) (deals *deal.Client[*sql.Tx], end func()) {
	store, err := sqlite.Temporary(ctx, sqlite.Options{})
	if err != nil {
		log.Fatal(err)
	}
	e, err := engine.New(store, engine.Config{Logger: slog.New(slog.DiscardHandler)}, deal.Define[*sql.Tx](nil, deal.DefaultParams()))
	if err == nil {
		err = e.Migrate(ctx)
	}
	if err != nil {
		log.Fatal(err)
	}
	return deal.In(e), func() { _ = store.Close() }
}

// A record is made and led on with the types of its machine. With a key it is safe to repeat a
// call whose answer was lost.
func ExampleCalls() {
	ctx, id := context.Background(), fsm.UUID{15: 1}
	deals, end := newDeals(ctx)
	defer end()
	for range 2 {
		o, err := deals.Create(ctx, id, deal.Create{OwnerID: 8, PriceNano: 100}, deal.ByAdvertiser(7), engine.Key("order-77"))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(o.Record.State, o.Version, o.Replayed)
	}
	_, err := deals.Accept(ctx, id, deal.ByOwner(8))
	fmt.Println(errors.Is(err, fsm.ErrInvalidTransition))
	// Output:
	// DRAFT 1 false
	// DRAFT 1 true
	// true
}

// All records in a state, however many there are.
func ExampleRecords_All() {
	ctx := context.Background()
	deals, end := newDeals(ctx)
	defer end()
	for n := range byte(3) {
		if _, err := deals.Create(ctx, fsm.UUID{15: n + 1}, deal.Create{OwnerID: 8, PriceNano: int64(n) + 1}, deal.ByAdvertiser(7)); err != nil {
			log.Fatal(err)
		}
	}
	for d, err := range deals.All(ctx, deal.Draft) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(d.ID, d.Record.PriceNano)
	}
	// Output:
	// 00000000-0000-0000-0000-000000000001 1
	// 00000000-0000-0000-0000-000000000002 2
	// 00000000-0000-0000-0000-000000000003 3
}

// A page of the history, with typed states and payloads.
func ExampleRecords_History() {
	ctx, id := context.Background(), fsm.UUID{15: 1}
	deals, end := newDeals(ctx)
	defer end()
	_, created := deals.Create(ctx, id, deal.Create{OwnerID: 8, PriceNano: 100}, deal.ByAdvertiser(7))
	_, offered := deals.SubmitOffer(ctx, id, deal.ByAdvertiser(7))
	steps, err := deals.History(ctx, id, 0, 0)
	if err := errors.Join(created, offered, err); err != nil {
		log.Fatal(err)
	}
	for _, s := range steps {
		fmt.Printf("%d %s %+v\n", s.Version, s.To, s.Event)
	}
	// Output:
	// 1 DRAFT {OwnerID:8 PriceNano:100}
	// 2 OFFER_PENDING {}
}
