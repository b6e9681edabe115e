package transfers

import (
	"context"
	"fmt"

	"github.com/fsmgen/fsmgen/generated/transfer"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Unpaid returns the transfers of a deal, of one kind, that another address helps on: it is certain
// that their money has not moved.
func (d *Database[T]) Unpaid(ctx context.Context, deal fsm.UUID, kind transfer.Kind) (ids []fsm.UUID, err error) {
	const question = `SELECT transfer_id FROM transfers WHERE deal_id = $1 AND kind = $2 AND status IN ('WAITING', 'BOUNCED', 'EXPIRED') ORDER BY transfer_id`
	err = d.transactions.InTx(ctx, func(tx T) error {
		ids = nil
		return d.in(tx).Each(ctx, question, []any{deal.String(), kind.String()}, func(scan func(...any) error) error {
			var id fsm.UUID
			err := scan(fsm.Into(&id))
			ids = append(ids, id)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("transfers: list what deal %s has not paid: %w", deal, err)
	}
	return ids, nil
}
