// Command booking sells seats of concerts: its README.md says what it shows.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"log/slog"

	"github.com/fsmgen/fsmgen/adapters/sqlite"
	"github.com/fsmgen/fsmgen/examples/booking/generated/concert"
	"github.com/fsmgen/fsmgen/runtime/client"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// The concerts: the first has two seats, the second has one.
var (
	bach  = fsm.UUID{6: 0x40, 8: 0x80, 15: 1}
	verdi = fsm.UUID{6: 0x40, 8: 0x80, 15: 2}
)

func run(ctx context.Context) (err error) {
	store, err := sqlite.Temporary(ctx, sqlite.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	office, err := open(ctx, store)
	if err != nil {
		return err
	}
	_, first := office.concerts.Create(ctx, bach, concert.Create{Title: "Bach", Seats: 2})
	_, second := office.concerts.Create(ctx, verdi, concert.Create{Title: "Verdi", Seats: 1})
	if err := errors.Join(first, second); err != nil {
		return err
	}
	for _, customer := range []string{"Ada", "Ben", "Cleo"} {
		office.tell("book Bach for "+customer, office.book(ctx, customer, bach))
	}
	office.tell("move Ada to Verdi", office.move(ctx, "Ada", bach, verdi))
	office.tell("move Ben to Verdi", office.move(ctx, "Ben", bach, verdi))
	if err := office.print(ctx); err != nil {
		return err
	}
	for { // a service keeps Run going instead
		if n, err := office.engine.Step(ctx); n == 0 || err != nil {
			return err
		}
	}
}

// office sells seats. Its table of bookings is its own; the engine knows nothing of it.
type office struct {
	store    *sqlite.Store
	engine   *engine.Engine[*sql.Tx]
	concerts *concert.Client[*sql.Tx]
}

const schema = `CREATE TABLE bookings (customer text PRIMARY KEY, concert text NOT NULL) STRICT`

func open(ctx context.Context, store *sqlite.Store) (office, error) {
	// One effect at a time: their lines come in order.
	e, err := engine.New(store, engine.Config{Logger: slog.New(slog.DiscardHandler), Concurrency: 1},
		concert.Define[*sql.Tx](newsletter{}))
	if err != nil {
		return office{}, err
	}
	if err := e.Migrate(ctx); err != nil {
		return office{}, err
	}
	err = store.InTx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, schema)
		return err
	})
	return office{store, e, concert.In(e)}, err
}

// book takes the seat and writes the customer's row in a transaction of the caller: both or neither.
func (o office) book(ctx context.Context, customer string, id fsm.UUID) error {
	var reserved client.Outcome[*concert.Record]
	err := o.store.InTx(ctx, func(tx *sql.Tx) (err error) {
		if reserved, err = o.concerts.Tx(tx).Reserve(ctx, id); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "INSERT INTO bookings VALUES (?, ?)", customer, id.String())
		return err
	})
	if err == nil {
		o.concerts.Committed(ctx, reserved) // wakes the workers: the engine did not see the commit
	}
	return err
}

// move changes two records and a row in one transaction of the engine, which starts the effects
// right after its commit.
func (o office) move(ctx context.Context, customer string, from, to fsm.UUID) error {
	return o.engine.Transact(ctx, func(ctx context.Context, tx *engine.Tx[*sql.Tx]) error {
		if _, err := concert.Within(tx).GiveBack(ctx, from); err != nil {
			return err
		}
		if _, err := concert.Within(tx).Reserve(ctx, to); err != nil {
			return err
		}
		_, err := tx.Tx.ExecContext(ctx, "UPDATE bookings SET concert = ? WHERE customer = ?", to.String(), customer)
		return err
	})
}

// tell prints what came of an attempt.
func (o office) tell(what string, err error) {
	var refused *fsm.Rejection
	switch {
	case err == nil:
		fmt.Println(what + ": done")
	case errors.As(err, &refused):
		fmt.Printf("%s: %s, nothing has changed\n", what, refused.Failure)
	default:
		fmt.Println(what+":", err)
	}
}

// print shows what is in the database: the seats of the records beside the rows of the bookings.
func (o office) print(ctx context.Context) error {
	for s, err := range o.concerts.All(ctx, 0) {
		if err != nil {
			return err
		}
		var sold int
		err := o.store.InTx(ctx, func(tx *sql.Tx) error {
			return tx.QueryRowContext(ctx, "SELECT count(*) FROM bookings WHERE concert = ?", s.ID).Scan(&sold)
		})
		if err != nil {
			return err
		}
		fmt.Printf("%s: %s, seats left: %d, bookings: %d\n", s.Record.Title, s.Record.State, s.Record.Seats, sold)
	}
	return nil
}

// newsletter carries out the effect of the table.
type newsletter struct{}

// Announce prints the announcement.
func (newsletter) Announce(_ context.Context, _ fsm.Dispatch, e concert.AnnounceEffect) error {
	fmt.Println("newsletter:", e.Title, "is sold out")
	return nil
}
