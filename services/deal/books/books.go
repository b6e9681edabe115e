// Package books answers questions about deals that no record answers alone: what the ledger of a deal
// says, which deals a user has, and what one costs.
package books

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/deal/internal/sqltx"
	"github.com/fsmgen/fsmgen/services/deal/ledger"
)

// Transactions is what Books asks of a store.
type Transactions[T any] interface {
	InTx(ctx context.Context, f func(T) error) error
}

// Books reads the database of deals.
type Books[T any] struct {
	db     Transactions[T]
	in     func(T) sqltx.Tx
	ledger *ledger.Ledger[T]
}

// SQLite returns the books of an SQLite database.
func SQLite(db Transactions[*sql.Tx]) *Books[*sql.Tx] {
	return &Books[*sql.Tx]{db, sqltx.SQLite, ledger.SQLite()}
}

// Postgres returns the books of a PostgreSQL database.
func Postgres(db Transactions[pgx.Tx]) *Books[pgx.Tx] {
	return &Books[pgx.Tx]{db, sqltx.Postgres, ledger.Postgres()}
}

// Migrate makes the table of the ledger, and the indices of deals by their parties, where they are
// missing. The table of deals must be there.
func (b *Books[T]) Migrate(ctx context.Context) error {
	return b.db.InTx(ctx, func(tx T) error {
		if err := b.ledger.Migrate(ctx, tx); err != nil {
			return err
		}
		const indices = `CREATE INDEX IF NOT EXISTS deals_of_advertiser ON deals (advertiser_id, deal_id);
			CREATE INDEX IF NOT EXISTS deals_of_owner ON deals (owner_id, deal_id)`
		if err := b.in(tx).Exec(ctx, indices); err != nil {
			return fmt.Errorf("make the indices of deals: %w", err)
		}
		return nil
	})
}

// Balances returns what the entries of a deal leave on each account that they touch, in nano.
func (b *Books[T]) Balances(ctx context.Context, id fsm.UUID) (balances map[ledger.Account]int64, err error) {
	err = b.db.InTx(ctx, func(tx T) (err error) {
		balances, err = b.ledger.Balances(ctx, tx, id)
		return err
	})
	return balances, err
}

// Price returns the price of a deal, in nano, in a transaction of the caller.
func (b *Books[T]) Price(ctx context.Context, tx T, id fsm.UUID) (nano int64, err error) {
	found, err := sqltx.One(ctx, b.in(tx), "SELECT price_nano FROM deals WHERE deal_id = $1", []any{id.String()}, &nano)
	if err == nil && !found {
		err = errors.New("there is no such deal")
	}
	if err != nil {
		return 0, fmt.Errorf("read the price of deal %s: %w", id, err)
	}
	return nano, nil
}

// Totals returns the balances over all deals: see ledger.Ledger.
func (b *Books[T]) Totals(ctx context.Context) (totals map[ledger.Account]int64, err error) {
	err = b.db.InTx(ctx, func(tx T) (err error) {
		totals, err = b.ledger.Totals(ctx, tx)
		return err
	})
	return totals, err
}

const (
	ofAnyone = `SELECT CAST(deal_id AS text) FROM deals WHERE deal_id > $1 AND ($2 = '' OR status = $2) ORDER BY deal_id LIMIT $3`
	// Each half reads an index up to the limit.
	ofParty = `SELECT CAST(deal_id AS text) FROM (
			SELECT * FROM (SELECT deal_id FROM deals WHERE advertiser_id = $4 AND deal_id > $1 AND ($2 = '' OR status = $2) ORDER BY deal_id LIMIT $3) AS bought
			UNION SELECT * FROM (SELECT deal_id FROM deals WHERE owner_id = $4 AND deal_id > $1 AND ($2 = '' OR status = $2) ORDER BY deal_id LIMIT $3) AS sold
		) AS own ORDER BY deal_id LIMIT $3`
)

// DealsOf returns up to limit deals by ascending id, those after an id: of a party, in a state.
// party 0 stands for any, and the zero state too.
func (b *Books[T]) DealsOf(ctx context.Context, party int64, state deal.State, after fsm.UUID, limit int) (ids []fsm.UUID, err error) {
	word := ""
	if state != 0 {
		word = state.String()
	}
	question, args := ofAnyone, []any{after.String(), word, limit}
	if party != 0 {
		question, args = ofParty, append(args, party)
	}
	err = b.db.InTx(ctx, func(tx T) error {
		ids = nil
		return b.in(tx).Each(ctx, question, args, func(scan func(...any) error) error {
			var id fsm.UUID
			err := scan(fsm.Into(&id))
			ids = append(ids, id)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list deals: %w", err)
	}
	return ids, nil
}
