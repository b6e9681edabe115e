package ton

import (
	"context"
	"fmt"
	"slices"

	"github.com/xssnick/tonutils-go/tlb"
)

// pageSize is how many transactions a liteserver returns at once.
const pageSize = 16

// account returns an account as it is at a view, with a proof.
func (c *Client) account(ctx context.Context, at View, of Address) (*tlb.Account, error) {
	found, err := c.api.WaitForBlock(at.Seqno).GetAccount(ctx, at.block, of.library())
	return found, classify("account "+of.String(), err)
}

// history returns the transactions of an account after a cursor, up to the view, oldest first. Each
// names the one before it by its hash, and the account names the last, so none can be missing. Its
// error is ErrProof if the account has no such transaction as the cursor.
func (c *Client) history(ctx context.Context, at View, of Address, since Cursor) ([]*tlb.Transaction, error) {
	found, err := c.account(ctx, at, of)
	if err != nil {
		return nil, err
	}
	return c.after(ctx, of, found, since)
}

// after returns the transactions of an account after a cursor, as history does.
func (c *Client) after(ctx context.Context, of Address, found *tlb.Account, since Cursor) ([]*tlb.Transaction, error) {
	if !found.IsActive || found.LastTxLT == 0 {
		return nil, nil // no such account
	}
	last := Cursor{found.LastTxLT, [32]byte(found.LastTxHash)}
	if last.LT < since.LT {
		return nil, fmt.Errorf("ton: account %s ends at %d, before the cursor %d: %w", of, last.LT, since.LT, ErrNotSynchronised)
	}
	list, reached, err := c.back(ctx, of, last, since.LT)
	if err != nil {
		return nil, err
	}
	// An account that was deleted, and made again by a payment, has a history of its own.
	if remade := reached.LT == 0; reached != since && !remade {
		return nil, fmt.Errorf("ton: account %s has no transaction %d %s: %w", of, since.LT, since.Hash, ErrProof)
	}
	return list, nil
}

// back reads from the last transaction of an account back to a logical time. It returns what is after
// that, oldest first, and the transaction that it reached.
func (c *Client) back(ctx context.Context, of Address, last Cursor, lt uint64) ([]*tlb.Transaction, Cursor, error) {
	var list []*tlb.Transaction // newest first
	for last.LT > lt {
		page, err := c.api.ListTransactions(ctx, of.library(), pageSize, last.LT, last.Hash[:])
		if err != nil {
			return nil, Cursor{}, classify(fmt.Sprintf("transactions of %s before %d", of, last.LT), err)
		}
		for _, tx := range slices.Backward(page) {
			if tx.LT <= lt {
				break
			}
			list = append(list, tx)
			last = Cursor{tx.PrevTxLT, [32]byte(tx.PrevTxHash)}
		}
	}
	slices.Reverse(list)
	return list, last, nil
}
