package deposits

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/adapters/ton"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/deal/internal/sqltx"
	"github.com/fsmgen/fsmgen/services/deal/ledger"
)

// Operator is the deal of what belongs to no deal: the money that operators put into the escrow wallet.
var Operator = fsm.UUID{}

// Funds books what comes to the escrow wallet from elsewhere than the deals' addresses, so that the books
// have all that the wallets have: NETWORK_FEES is credited with it, under the deal Operator. It is the
// store of a watcher, and safe for concurrent use.
type Funds[T any] struct {
	addresses *Addresses[T]
	ledger    *ledger.Ledger[T]
	escrow    ton.Address
}

var _ ton.Deposits = (*Funds[struct{}])(nil)

// NewFunds returns the store of a watcher of the escrow wallet. The ledger is that of the database of
// the addresses.
func NewFunds[T any](addresses *Addresses[T], books *ledger.Ledger[T], escrow ton.Address) (*Funds[T], error) {
	if addresses == nil || books == nil || escrow == (ton.Address{}) {
		return nil, errors.New("deposits: Funds need addresses, a ledger and the address of the escrow wallet")
	}
	return &Funds[T]{addresses, books, escrow}, nil
}

// Open returns the escrow wallet.
func (f *Funds[T]) Open(ctx context.Context) ([]ton.Account, error) {
	account := ton.Account{Address: f.escrow}
	err := f.addresses.transactions.InTx(ctx, func(tx T) (err error) {
		account.Cursor, err = f.cursor(ctx, f.addresses.in(tx))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("deposits: cursor of the escrow wallet: %w", err)
	}
	return []ton.Account{account}, nil
}

func (f *Funds[T]) cursor(ctx context.Context, tx sqltx.Tx) (c ton.Cursor, err error) {
	var lt int64
	var hash string
	const question = "SELECT cursor_lt, cursor_hash FROM deal_funds WHERE wallet = $1"
	found, err := sqltx.One(ctx, tx, question, []any{f.escrow.String()}, &lt, &hash)
	if err != nil || !found {
		return ton.Cursor{}, err
	}
	c.LT = uint64(lt)
	return c, c.Hash.UnmarshalText([]byte(hash))
}

// Credit books the money and the costs, and moves the cursor, in one transaction. The collections of
// deals book themselves.
func (f *Funds[T]) Credit(ctx context.Context, of ton.Address, deposits []ton.Deposit, costs []ton.Cost, next ton.Cursor) error {
	err := f.addresses.transactions.InTx(ctx, func(tx T) error {
		if of != f.escrow {
			return errors.New("it is not the escrow wallet")
		}
		for _, d := range deposits {
			if err := f.credit(ctx, tx, d); err != nil {
				return err
			}
		}
		for _, c := range costs {
			if err := f.bookFee(ctx, tx, c.Cursor, c.Nano, c.Time); err != nil {
				return err
			}
		}
		const move = `INSERT INTO deal_funds (wallet, cursor_lt, cursor_hash) VALUES ($1, $2, $3) ON CONFLICT (wallet)
			DO UPDATE SET cursor_lt = excluded.cursor_lt, cursor_hash = excluded.cursor_hash WHERE deal_funds.cursor_lt < excluded.cursor_lt`
		return f.addresses.in(tx).Exec(ctx, move, f.escrow.String(), int64(next.LT), next.Hash.String())
	})
	if err != nil {
		return fmt.Errorf("deposits: book what came to %s: %w", of, err)
	}
	return nil
}

func (f *Funds[T]) credit(ctx context.Context, tx T, d ton.Deposit) error {
	var one int
	ours, err := sqltx.One(ctx, f.addresses.in(tx), "SELECT 1 FROM deal_addresses WHERE address = $1", []any{d.From.String()}, &one)
	if err != nil || ours {
		return err
	}
	if err := f.ledger.Post(ctx, tx, ledger.Endowed(Operator, d.Hash.String(), int64(d.Nano)), d.Time); err != nil {
		return err
	}
	return f.bookFee(ctx, tx, d.Cursor, d.Fees, d.Time)
}

func (f *Funds[T]) bookFee(ctx context.Context, tx T, of ton.Cursor, nano uint64, at time.Time) error {
	if nano == 0 {
		return nil
	}
	return f.ledger.Post(ctx, tx, ledger.Failed(Operator, of.Hash.String(), int64(nano)), at)
}
