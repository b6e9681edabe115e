package service

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// schema is the service's own tables: what effects write within the transaction of a step. The
// keys make a step that is booked twice an error.
const schema = `
CREATE TABLE service_ledger (
  message_id text NOT NULL, deal_id text NOT NULL, account text NOT NULL, nano integer NOT NULL,
  PRIMARY KEY (message_id, account)
) STRICT;
CREATE TABLE service_notes (
  message_id text NOT NULL PRIMARY KEY, machine text NOT NULL, record_id text NOT NULL, effect text NOT NULL, payload text NOT NULL
) STRICT`

// Migrate creates the service's own tables.
func Migrate(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, schema)
	return err
}

// note keeps an effect that belongs to the transaction of its step: audits, manifests, tombstones,
// the operator queue.
func note(ctx context.Context, tx *sql.Tx, d fsm.Dispatch) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO service_notes VALUES (?, ?, ?, ?, ?)", d.ID, d.Machine, d.Record, d.Effect, string(d.Payload))
	return err
}

// line is what an effect books on an account.
type line struct {
	account string
	nano    int64
}

// linesOf are what an effect books: they add up to zero. An effect that moves no money has none.
func linesOf(d fsm.Dispatch) ([]line, error) {
	var of struct {
		Deposit    int64 `json:"deposit_nano"`
		Amount     int64 `json:"amount_nano"`
		Payout     int64 `json:"payout_nano"`
		Commission int64 `json:"commission_nano"`
		Fees       int64 `json:"fees_nano"`
	}
	if err := json.Unmarshal(d.Payload, &of); err != nil {
		return nil, err
	}
	switch d.Effect {
	case "ledger_deposit":
		return []line{{"EXTERNAL_TON", -of.Amount}, {"ESCROW", of.Deposit}, {"SUSPENSE", of.Amount - of.Deposit}}, nil
	case "release_escrow":
		return []line{{"ESCROW", -of.Payout - of.Commission - of.Fees}, {"OWNER", of.Payout}, {"PLATFORM", of.Commission + of.Fees}}, nil
	case "return_escrow":
		return []line{{"ESCROW", -of.Deposit}, {"SUSPENSE", of.Deposit}}, nil
	}
	return nil, nil
}

// book keeps what an effect books, or, if that is nothing, the effect.
func book(ctx context.Context, tx *sql.Tx, d fsm.Dispatch) error {
	lines, err := linesOf(d)
	if err != nil {
		return err
	}
	if len(lines) == 0 {
		return note(ctx, tx, d)
	}
	for _, l := range lines {
		if _, err := tx.ExecContext(ctx, "INSERT INTO service_ledger VALUES (?, ?, ?, ?)", d.ID, d.Record, l.account, l.nano); err != nil {
			return err
		}
	}
	return nil
}
