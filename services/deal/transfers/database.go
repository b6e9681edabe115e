package transfers

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/fsmgen/fsmgen/adapters/ton"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/deal/internal/sqltx"
)

//go:embed schema.sql
var schema string

// Transactions are those of a store.
type Transactions[T any] interface {
	InTx(ctx context.Context, f func(T) error) error
}

// Database is what transfers read and write beside their records.
type Database[T any] struct {
	transactions Transactions[T]
	in           func(T) sqltx.Tx
}

// NewDatabase returns the database of a store, whose transactions run statements by in.
func NewDatabase[T any](store Transactions[T], in func(T) sqltx.Tx) *Database[T] {
	return &Database[T]{store, in}
}

// Migrate makes the table where it is missing.
func (d *Database[T]) Migrate(ctx context.Context, tx T) error {
	if err := d.in(tx).Exec(ctx, schema); err != nil {
		return fmt.Errorf("transfers: make the table: %w", err)
	}
	return nil
}

// number returns a number that no transfer of the wallet has, in any process: 1, 2 and so on. It
// commits before it returns.
func (d *Database[T]) number(ctx context.Context, wallet ton.Address) (n int64, err error) {
	const next = `INSERT INTO deal_wallets (wallet, last_number) VALUES ($1, 1)
		ON CONFLICT (wallet) DO UPDATE SET last_number = deal_wallets.last_number + 1 RETURNING last_number`
	err = d.transactions.InTx(ctx, func(tx T) error {
		_, err := sqltx.One(ctx, d.in(tx), next, []any{wallet.String()}, &n)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("transfers: number a transfer of wallet %s: %w", wallet, err)
	}
	return n, nil
}

// collects reports whether a collection of the deal is signed and can still be executed.
func (d *Database[T]) collects(ctx context.Context, deal fsm.UUID) (found bool, err error) {
	const question = `SELECT 1 FROM transfers WHERE deal_id = $1 AND kind = 'collection' AND status IN ('SIGNED', 'SENT')`
	err = d.transactions.InTx(ctx, func(tx T) error {
		var one int
		found, err = sqltx.One(ctx, d.in(tx), question, []any{deal.String()}, &one)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("transfers: look for collections of deal %s: %w", deal, err)
	}
	return found, nil
}
