package deposits

import (
	"context"
	"crypto/ed25519"
	_ "embed"
	"errors"
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

// Addresses are the deposit addresses of deals: wallets of version 4 of one key, with a number from a
// sequence. They are safe for concurrent use, also of several processes.
type Addresses[T any] struct {
	transactions Transactions[T]
	in           func(T) sqltx.Tx
	key          ed25519.PublicKey
}

// NewAddresses returns the addresses in the database of a store, whose transactions run statements by
// in. The key must stay the same: addresses are kept as they were made.
func NewAddresses[T any](store Transactions[T], in func(T) sqltx.Tx, key ed25519.PublicKey) (*Addresses[T], error) {
	if len(key) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("deposits: a public key of %d bytes, want %d", len(key), ed25519.PublicKeySize)
	}
	return &Addresses[T]{store, in, key}, nil
}

// Migrate makes the tables where they are missing.
func (a *Addresses[T]) Migrate(ctx context.Context, tx T) error {
	if err := a.in(tx).Exec(ctx, schema); err != nil {
		return fmt.Errorf("deposits: make the tables: %w", err)
	}
	return nil
}

// ErrNoAddress is returned for a deal that has no address.
var ErrNoAddress = errors.New("deposits: the deal has no address")

// Of returns the address of a deal, which is made at the first call and stays.
func (a *Addresses[T]) Of(ctx context.Context, deal fsm.UUID) (address ton.Address, err error) {
	err = a.transactions.InTx(ctx, func(tx T) error {
		var text string
		const known = "SELECT address FROM deal_addresses WHERE deal_id = $1"
		found, err := sqltx.One(ctx, a.in(tx), known, []any{deal.String()}, &text)
		switch {
		case err != nil:
			return err
		case found:
			return address.UnmarshalText([]byte(text))
		}
		address, err = a.make(ctx, a.in(tx), deal)
		return err
	})
	if err != nil {
		return ton.Address{}, fmt.Errorf("deposits: address of deal %s: %w", deal, err)
	}
	return address, nil
}

// make makes the address of a deal. Of two calls for one deal the second waits for the sequence, and
// takes what the first has made.
func (a *Addresses[T]) make(ctx context.Context, tx sqltx.Tx, deal fsm.UUID) (address ton.Address, err error) {
	number, err := next(ctx, tx)
	if err != nil {
		return ton.Address{}, err
	}
	if address, err = ton.WalletAddress(a.key, number); err != nil {
		return ton.Address{}, err
	}
	const keep = `INSERT INTO deal_addresses (deal_id, subwallet, address) VALUES ($1, $2, $3)
		ON CONFLICT (deal_id) DO UPDATE SET deal_id = excluded.deal_id RETURNING address`
	var text string
	if _, err := sqltx.One(ctx, tx, keep, []any{deal.String(), int64(number), address.String()}, &text); err != nil {
		return ton.Address{}, err
	}
	return address, address.UnmarshalText([]byte(text))
}

// next returns the next number of a wallet. It leaves out the one that wallet programs use.
func next(ctx context.Context, tx sqltx.Tx) (uint32, error) {
	const advance = `INSERT INTO deal_subwallets (singleton, last_number) VALUES (1, 1) ON CONFLICT (singleton) DO UPDATE
		SET last_number = deal_subwallets.last_number + CASE deal_subwallets.last_number + 1 WHEN $1 THEN 2 ELSE 1 END RETURNING last_number`
	var number int64
	_, err := sqltx.One(ctx, tx, advance, []any{int64(ton.ReservedSubwallet)}, &number)
	if tx.Refused(err) {
		err = fmt.Errorf("all numbers of wallets are used: take another key: %w", err)
	}
	return uint32(number), err
}

// Subwallet returns the number of the wallet that has the deposits of a deal. Its error is
// ErrNoAddress.
func (a *Addresses[T]) Subwallet(ctx context.Context, deal fsm.UUID) (uint32, error) {
	var number int64
	var found bool
	err := a.transactions.InTx(ctx, func(tx T) (err error) {
		found, err = sqltx.One(ctx, a.in(tx), "SELECT subwallet FROM deal_addresses WHERE deal_id = $1", []any{deal.String()}, &number)
		return err
	})
	switch {
	case err != nil:
		return 0, fmt.Errorf("deposits: wallet of deal %s: %w", deal, err)
	case !found:
		return 0, fmt.Errorf("%w: %s", ErrNoAddress, deal)
	}
	return uint32(number), nil
}

// open returns all addresses with their cursors.
func (a *Addresses[T]) open(ctx context.Context) (list []ton.Account, err error) {
	err = a.transactions.InTx(ctx, func(tx T) error {
		list = nil
		return a.in(tx).Each(ctx, "SELECT address, cursor_lt, cursor_hash FROM deal_addresses", nil, func(scan func(...any) error) error {
			var address, hash string
			var lt int64
			if err := scan(&address, &lt, &hash); err != nil {
				return err
			}
			account := ton.Account{Cursor: ton.Cursor{LT: uint64(lt)}}
			list = append(list, account)
			last := &list[len(list)-1]
			return errors.Join(last.Address.UnmarshalText([]byte(address)), last.Cursor.Hash.UnmarshalText([]byte(hash)))
		})
	})
	if err != nil {
		return nil, fmt.Errorf("deposits: addresses: %w", err)
	}
	return list, nil
}
