package transfers

import (
	"context"

	"github.com/fsmgen/fsmgen/adapters/ton"
)

// Numbered makes many transfers at the same time, each with a number of its own: a *ton.Highload.
type Numbered interface {
	Address() ton.Address
	Sign(ctx context.Context, t ton.Transfer, n uint64) (ton.Signed, error)
	Send(ctx context.Context, s ton.Signed) error
	Outcome(ctx context.Context, s ton.Signed) (ton.Outcome, error)
}

// Shared returns a wallet that several processes use at the same time: they take the numbers of their
// transfers from the database. Numbers come again after ton.QueryIDs transfers. A number whose
// signature was lost is left out.
func Shared[T any](w Numbered, d *Database[T]) Wallet { return &shared[T]{w, d} }

type shared[T any] struct {
	Numbered
	database *Database[T]
}

// Sign signs with the next number.
func (s *shared[T]) Sign(ctx context.Context, t ton.Transfer) (ton.Signed, error) {
	n, err := s.database.number(ctx, s.Address())
	if err != nil {
		return ton.Signed{}, err
	}
	return s.Numbered.Sign(ctx, t, uint64(n))
}
