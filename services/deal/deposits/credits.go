package deposits

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/adapters/ton"
	"github.com/fsmgen/fsmgen/generated/transfer"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/deal/internal/sqltx"
	"github.com/fsmgen/fsmgen/services/deal/ledger"
)

// Engine opens the transactions of credits: an *engine.Engine.
type Engine[T any] interface {
	Transact(ctx context.Context, f func(context.Context, *engine.Tx[T]) error) error
}

// Config configures Credits. All fields but the amounts are required.
type Config[T any] struct {
	Addresses *Addresses[T]
	// Engine has the machine transfer. Its database is that of Addresses.
	Engine Engine[T]
	// Ledger is the ledger of that database.
	Ledger *ledger.Ledger[T]
	// Confirm fires the event of a deposit at its deal, and books it, in the transaction. It is called
	// again after an error, which undoes the credit: it must not fail for a deposit that the deal does
	// not expect.
	Confirm func(ctx context.Context, tx *engine.Tx[T], deal fsm.UUID, d ton.Deposit) error
	// Escrow is the wallet where deposits are collected.
	Escrow ton.Address
	// Reserve is what a collection leaves of a deposit, in nano, for the fees of both wallets.
	Reserve int64
	// Least is the smallest collection, in nano: a deposit that leaves less stays where it is.
	Least int64
}

func (c Config[T]) validate() error {
	switch {
	case c.Addresses == nil || c.Engine == nil || c.Ledger == nil || c.Confirm == nil || c.Escrow == ton.Address{}:
		return errors.New("deposits: Config needs Addresses, Engine, Ledger, Confirm and Escrow")
	case c.Reserve < 0 || c.Least < 0:
		return fmt.Errorf("deposits: Config has a Reserve of %d and a Least of %d: neither may be negative", c.Reserve, c.Least)
	}
	return nil
}

// Credits are the store of a watcher. They are safe for concurrent use.
type Credits[T any] struct{ config Config[T] }

var _ ton.Deposits = (*Credits[struct{}])(nil)

// New returns the store of a watcher.
func New[T any](config Config[T]) (*Credits[T], error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	return &Credits[T]{config}, nil
}

// Open returns every address that was made.
func (c *Credits[T]) Open(ctx context.Context) ([]ton.Account, error) {
	return c.config.Addresses.open(ctx)
}

// Credit confirms those of the deposits that are new, books the costs, and moves the cursor, in one
// transaction.
func (c *Credits[T]) Credit(ctx context.Context, of ton.Address, deposits []ton.Deposit, costs []ton.Cost, next ton.Cursor) error {
	err := c.config.Engine.Transact(ctx, func(ctx context.Context, tx *engine.Tx[T]) error {
		deal, cursor, err := c.hold(ctx, tx, of)
		if err != nil {
			return err
		}
		for _, d := range deposits {
			if err := c.credit(ctx, tx, deal, d); err != nil {
				return fmt.Errorf("deposit %s of deal %s: %w", d.Hash, deal, err)
			}
		}
		for _, cost := range costs {
			if err := c.bookFee(ctx, tx, deal, cost.Cursor, cost.Nano, cost.Time); err != nil {
				return err
			}
		}
		if next.LT <= cursor {
			return nil
		}
		const move = "UPDATE deal_addresses SET cursor_lt = $2, cursor_hash = $3 WHERE address = $1"
		return c.in(tx).Exec(ctx, move, of.String(), int64(next.LT), next.Hash.String())
	})
	if err != nil {
		return fmt.Errorf("deposits: credit %s: %w", of, err)
	}
	return nil
}

func (c *Credits[T]) in(tx *engine.Tx[T]) sqltx.Tx { return c.config.Addresses.in(tx.Tx) }

// hold returns the deal of an address and its cursor. The update has the credits of other processes
// wait for this one.
func (c *Credits[T]) hold(ctx context.Context, tx *engine.Tx[T], of ton.Address) (deal fsm.UUID, lt uint64, err error) {
	const lock = "UPDATE deal_addresses SET cursor_lt = cursor_lt WHERE address = $1 RETURNING deal_id, cursor_lt"
	var id string
	var cursor int64
	found, err := sqltx.One(ctx, c.in(tx), lock, []any{of.String()}, &id, &cursor)
	switch {
	case err != nil:
		return fsm.UUID{}, 0, err
	case !found:
		return fsm.UUID{}, 0, errors.New("no deal has the address")
	}
	deal, err = fsm.ParseUUID(id)
	return deal, uint64(cursor), err
}

// credit confirms a deposit unless it was confirmed before.
func (c *Credits[T]) credit(ctx context.Context, tx *engine.Tx[T], deal fsm.UUID, d ton.Deposit) error {
	const keep = `INSERT INTO deal_deposits (address, lt, hash, deal_id, nano, sender, remark, paid_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (address, lt, hash) DO NOTHING RETURNING lt`
	var lt int64
	isNew, err := sqltx.One(ctx, c.in(tx), keep, []any{
		d.Address.String(), int64(d.LT), d.Hash.String(), deal.String(), int64(d.Nano), d.From.String(), d.Comment, fsm.Instant(d.Time).Format(fsm.TimeLayout),
	}, &lt)
	if err != nil || !isNew {
		return err
	}
	if err := c.bookFee(ctx, tx, deal, d.Cursor, d.Fees, d.Time); err != nil {
		return err
	}
	if err := c.config.Confirm(ctx, tx, deal, d); err != nil {
		return err
	}
	return c.collect(ctx, tx, deal, d)
}

// bookFee books what a transaction took from an address. The ledger books it once.
func (c *Credits[T]) bookFee(ctx context.Context, tx *engine.Tx[T], deal fsm.UUID, of ton.Cursor, nano uint64, at time.Time) error {
	if nano == 0 {
		return nil
	}
	return c.config.Ledger.Post(ctx, tx.Tx, ledger.Failed(deal, of.Hash.String(), int64(nano)), at)
}

// collect starts the transfer of a deposit to the escrow wallet.
func (c *Credits[T]) collect(ctx context.Context, tx *engine.Tx[T], deal fsm.UUID, d ton.Deposit) error {
	amount := int64(d.Nano) - c.config.Reserve
	if amount < max(c.config.Least, 1) {
		return nil
	}
	_, err := transfer.Within(tx).Plan(ctx, collectionID(d), transfer.Plan{
		DealID: deal, Kind: transfer.KindCollection, Cause: d.Hash.String(), AmountNano: amount, Recipient: fsm.Some(c.config.Escrow.String()),
	}, transfer.Actor{Role: transfer.RoleSystem})
	return err
}

// collectionID returns the id of a deposit's collection, which follows from the deposit: a UUID of
// version 8 (RFC 9562, section 5.8).
func collectionID(d ton.Deposit) fsm.UUID {
	const version, variant = 0x80, 0x80
	sum := sha256.Sum256([]byte("collection:" + d.Key()))
	id := fsm.UUID(sum[:len(fsm.UUID{})])
	id[6], id[8] = id[6]&0x0f|version, id[8]&0x3f|variant
	return id
}
