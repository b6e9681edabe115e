package ton

import (
	"context"

	"github.com/xssnick/tonutils-go/tlb"
)

// Holding is what an account has.
type Holding struct {
	Nano uint64
	// Last is its last transaction, the zero Cursor if it has none. A watcher whose cursor is before it
	// has something to find.
	Last Cursor
}

// Holding returns what an account has at a view, with a proof.
func (c *Client) Holding(ctx context.Context, at View, of Address) (Holding, error) {
	a, err := c.account(ctx, at, of)
	if err != nil {
		return Holding{}, err
	}
	return holdingOf(a), nil
}

func holdingOf(a *tlb.Account) Holding {
	if !a.IsActive {
		return Holding{}
	}
	return Holding{a.State.Balance.Nano().Uint64(), Cursor{LT: a.LastTxLT, Hash: [32]byte(a.LastTxHash)}}
}
