package oracle

import (
	"context"
	"errors"

	"github.com/fsmgen/fsmgen/services/deal/internal/sqltx"
)

// books is what the database says.
type books struct {
	unsound   int64 // lines that are out of balance
	external  int64 // what EXTERNAL_TON has
	escrows   map[string]int64
	deposits  map[deposit]int64
	transfers map[string]record
}

// deposit is a cause of a deal that has taken money from outside.
type deposit struct{ deal, cause string }

// record is one of the table transfers.
type record struct {
	deal, kind, status, recipient string
	nano                          int64
}

// What is asked of the database.
const (
	unsound  = `SELECT count(*) FROM deal_ledger WHERE nano <= 0 OR debit = credit`
	external = `SELECT CAST(coalesce(sum(CASE WHEN credit = 'EXTERNAL_TON' THEN nano WHEN debit = 'EXTERNAL_TON' THEN -nano ELSE 0 END), 0) AS bigint) FROM deal_ledger`
	escrows  = `SELECT CAST(deal_id AS text), CAST(sum(CASE WHEN credit LIKE 'ESCROW:%' THEN nano ELSE 0 END) - sum(CASE WHEN debit LIKE 'ESCROW:%' THEN nano ELSE 0 END) AS bigint)
		FROM deal_ledger GROUP BY deal_id`
	deposits = `SELECT CAST(deal_id AS text), cause, CAST(sum(nano) AS bigint) FROM deal_ledger WHERE debit = 'EXTERNAL_TON' AND cause LIKE 'deposit:%' GROUP BY deal_id, cause`
	records  = `SELECT CAST(transfer_id AS text), CAST(deal_id AS text), CAST(kind AS text), CAST(status AS text), coalesce(recipient, ''), amount_nano FROM transfers`
)

func (w World[T]) read(ctx context.Context) (b books, err error) {
	b = books{escrows: map[string]int64{}, deposits: map[deposit]int64{}, transfers: map[string]record{}}
	err = w.Database.InTx(ctx, func(of T) error {
		tx := w.Database.Statements(of)
		_, lines := sqltx.One(ctx, tx, unsound, nil, &b.unsound)
		_, outside := sqltx.One(ctx, tx, external, nil, &b.external)
		return errors.Join(lines, outside, b.readEscrows(ctx, tx), b.readDeposits(ctx, tx), b.readTransfers(ctx, tx))
	})
	return b, err
}

func (b books) readEscrows(ctx context.Context, tx sqltx.Tx) error {
	return tx.Each(ctx, escrows, nil, func(scan func(...any) error) error {
		var deal string
		var nano int64
		err := scan(&deal, &nano)
		b.escrows[deal] = nano
		return err
	})
}

func (b books) readDeposits(ctx context.Context, tx sqltx.Tx) error {
	return tx.Each(ctx, deposits, nil, func(scan func(...any) error) error {
		var d deposit
		var nano int64
		err := scan(&d.deal, &d.cause, &nano)
		b.deposits[d] = nano
		return err
	})
}

func (b books) readTransfers(ctx context.Context, tx sqltx.Tx) error {
	return tx.Each(ctx, records, nil, func(scan func(...any) error) error {
		var id string
		var r record
		err := scan(&id, &r.deal, &r.kind, &r.status, &r.recipient, &r.nano)
		b.transfers[id] = r
		return err
	})
}
