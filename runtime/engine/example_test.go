package engine_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"

	"github.com/fsmgen/fsmgen/adapters/sqlite"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/engine"
)

// An offer is lowered while others may write to the record: every attempt reads
// the record again.
func ExampleRetryConflicts() {
	ctx := context.Background()
	store, err := sqlite.Temporary(ctx, sqlite.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	deals, err := engine.New(store, engine.Config{}, deal.Define[*sql.Tx](nil, deal.DefaultParams()))
	if err == nil {
		err = deals.Migrate(ctx)
	}
	const id = "5f0c3a0e-0000-4000-8000-000000000001"
	advertiser, owner := engine.Call{By: deal.ByAdvertiser(7).Caller()}, engine.Call{By: deal.ByOwner(8).Caller()}
	if err == nil {
		_, err = deals.Create(ctx, "deal", id, deal.Create{OwnerID: 8, PriceNano: 100}, advertiser)
	}
	if err == nil {
		_, err = deals.Fire(ctx, "deal", id, deal.SubmitOffer{}, advertiser)
	}
	if err == nil {
		err = engine.RetryConflicts(ctx, func(ctx context.Context) error {
			now, err := deals.Get(ctx, "deal", id)
			if err != nil {
				return err
			}
			price := now.Record.(*deal.Record).PriceNano - 10
			_, err = deals.Fire(ctx, "deal", id, deal.CounterOffer{PriceNano: price}, owner)
			return err
		})
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	now, err := deals.Get(ctx, "deal", id)
	fmt.Println(now.Record.StateName(), now.Version, err)
	// Output: NEGOTIATING 3 <nil>
}
