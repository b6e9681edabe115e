// Command order is a web shop with one machine, on a SQLite file: its README.md says what it shows.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/fsmgen/fsmgen/adapters/sqlite"
	"github.com/fsmgen/fsmgen/examples/order/generated/order"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

func main() {
	if err := run(context.Background(), "order.db"); err != nil {
		log.Fatal(err)
	}
}

// run opens the shop and keeps its worker running while two customers come.
func run(ctx context.Context, path string) (err error) {
	store, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	m := mailer{sent: make(chan string, 1)}
	c := &clock{}
	shop, err := newShop(ctx, store, m, c)
	if err != nil {
		return err
	}
	working, stop := context.WithCancel(ctx)
	stopped := make(chan error, 1)
	go func() { stopped <- shop.Run(working) }()
	defer func() {
		stop()
		if ended := <-stopped; !errors.Is(ended, context.Canceled) {
			err = errors.Join(err, ended)
		}
	}()
	orders := order.In(shop)
	if err := buy(ctx, orders, m.sent); err != nil {
		return err
	}
	return abandon(ctx, orders, c)
}

// newShop returns an engine with the machine and its handlers.
func newShop(ctx context.Context, store *sqlite.Store, m mailer, c *clock) (*engine.Engine[*sql.Tx], error) {
	// A service keeps the engine's log; here it would stand between the lines of the program.
	config := engine.Config{Clock: c, Logger: slog.New(slog.DiscardHandler), PollInterval: 50 * time.Millisecond}
	shop, err := engine.New(store, config, order.Define[*sql.Tx](m, order.DefaultParams()))
	if err != nil {
		return nil, err
	}
	return shop, shop.Migrate(ctx)
}

// buy pays an order: too little, then enough, then once more with the same idempotency key.
func buy(ctx context.Context, orders *order.Client[*sql.Tx], sent <-chan string) error {
	id := fsm.UUID{6: 0x40, 8: 0x80, 15: 1}
	created, err := orders.Create(ctx, id, order.Create{Total: 4200}, engine.Key("checkout-1"))
	if err != nil {
		return err
	}
	if created.Replayed {
		fmt.Println("first order: an earlier run created it")
		return nil
	}
	fmt.Println("first order:", created.Record.State)
	if err := buttons(ctx, orders, id); err != nil {
		return err
	}
	var refused *fsm.Rejection
	if _, err := orders.Pay(ctx, id, order.Pay{Amount: 100}); !errors.As(err, &refused) {
		return fmt.Errorf("a payment of 100 was not refused: %w", err)
	}
	fmt.Printf("pay 100: refused as %s, HTTP %d: %s\n", refused.Failure, refused.Status, refused.Rows[0].Clause)
	for range 2 {
		paid, err := orders.Pay(ctx, id, order.Pay{Amount: 4200}, engine.Key("payment-1"))
		if err != nil {
			return err
		}
		fmt.Printf("pay 4200: %s at version %d, answered before: %t\n", paid.Record.State, paid.Version, paid.Replayed)
	}
	fmt.Println(<-sent)
	return nil
}

// abandon makes an order and does not pay it. The two days until it expires pass at once.
func abandon(ctx context.Context, orders *order.Client[*sql.Tx], c *clock) error {
	id := fsm.UUID{6: 0x40, 8: 0x80, 15: 2}
	created, err := orders.Create(ctx, id, order.Create{Total: 1700}, engine.Key("checkout-2"))
	if err != nil {
		return err
	}
	fmt.Println("second order:", created.Record.State)
	c.ahead.Store(int64(order.DefaultParams().TimeToPay))
	for state := created.Record.State; state != order.Expired; {
		time.Sleep(10 * time.Millisecond)
		found, err := orders.Get(ctx, id)
		if err != nil {
			return err
		}
		state = found.Record.State
	}
	fmt.Println("second order: expired")
	return buttons(ctx, orders, id)
}

// buttons prints what a customer may do with an order now, and what that depends on.
func buttons(ctx context.Context, orders *order.Client[*sql.Tx], id fsm.UUID) error {
	verdicts, _, err := orders.Legal(ctx, id, engine.By(fsm.System()))
	if err != nil {
		return err
	}
	for _, v := range verdicts {
		switch {
		case v.Event == order.EventCreate || v.Event.Internal():
		case !v.Legal:
			fmt.Printf("  button %s: off, %s\n", v.Event, v.Why.Reason)
		case len(v.Needs) > 0:
			fmt.Printf("  button %s: on, if %s\n", v.Event, v.Needs[0].Clause)
		default:
			fmt.Printf("  button %s: on\n", v.Event)
		}
	}
	return nil
}

// clock is that of the system, moved ahead. A service leaves Config.Clock out.
type clock struct{ ahead atomic.Int64 }

func (c *clock) Now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// mailer has a method for each effect of the table.
type mailer struct{ sent chan string }

// Receipt sends a receipt. The first attempt fails, and the engine repeats it. A real mail service
// gets d.ID as its idempotency key: it is the same in each attempt.
func (m mailer) Receipt(_ context.Context, d fsm.Dispatch, e order.ReceiptEffect) error {
	if d.Attempt == 1 {
		return errors.New("the mail server is busy")
	}
	m.sent <- fmt.Sprintf("attempt %d: a receipt over %d cents", d.Attempt, e.Total)
	return nil
}
