package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/deal/internal/sqltx"
)

// Ledger posts entries and reads balances in transactions of type T. [Postgres] and [SQLite] make
// one.
type Ledger[T any] struct {
	schema string
	in     func(T) sqltx.Tx
}

var (
	// ErrConflict is returned when a cause has booked something else before.
	ErrConflict = errors.New("ledger: the cause has another entry")
	// ErrRefused is returned when the database refuses an entry: it overdraws an account, or names
	// the escrow of another deal.
	ErrRefused = errors.New("ledger: the database refuses the entry")
)

// Migrate makes the table of the ledger where it is missing.
func (l *Ledger[T]) Migrate(ctx context.Context, tx T) error {
	if err := l.in(tx).Exec(ctx, l.schema); err != nil {
		return fmt.Errorf("ledger: make the table: %w", err)
	}
	return nil
}

// Post books an entry. Posting it again changes nothing. The error is [ErrInvalid] for an entry that
// can't be, [ErrConflict] if the deal has another entry of this cause, and [ErrRefused] if the
// database refuses it; the transaction can't be committed after that.
func (l *Ledger[T]) Post(ctx context.Context, tx T, e Entry, at time.Time) error {
	if err := e.validate(); err != nil {
		return err
	}
	booked, err := l.Entry(ctx, tx, e.Deal, e.Cause)
	if err != nil {
		return err
	}
	if len(booked) > 0 {
		return e.same(booked)
	}
	statement, args := insert(e, at)
	if err := l.in(tx).Exec(ctx, statement, args...); err != nil {
		if l.in(tx).Refused(err) {
			err = fmt.Errorf("%w: %w", ErrRefused, err)
		}
		return fmt.Errorf("ledger: post %s of deal %s: %w", e.Cause, e.Deal, err)
	}
	return nil
}

func insert(e Entry, at time.Time) (statement string, args []any) {
	args = []any{e.Deal.String(), e.Cause, at.UTC().Format(time.RFC3339Nano)}
	rows := make([]string, len(e.Lines))
	for i, line := range e.Lines {
		n := len(args)
		rows[i] = fmt.Sprintf("($1, $2, $3, $%d, $%d, $%d, $%d)", n+1, n+2, n+3, n+4)
		args = append(args, i+1, string(line.Debit), string(line.Credit), line.Nano)
	}
	return "INSERT INTO deal_ledger (deal_id, cause, booked_at, line, debit, credit, nano) VALUES " + strings.Join(rows, ", "), args
}

// same returns ErrConflict unless the lines of e are those that were booked.
func (e Entry) same(booked []Line) error {
	if len(booked) != len(e.Lines) {
		return fmt.Errorf("%w: %s of deal %s has %d lines, not %d", ErrConflict, e.Cause, e.Deal, len(booked), len(e.Lines))
	}
	for i, line := range booked {
		if line != e.Lines[i] {
			return fmt.Errorf("%w: line %d of %s of deal %s is %+v, not %+v", ErrConflict, i+1, e.Cause, e.Deal, line, e.Lines[i])
		}
	}
	return nil
}

// Entry returns the lines that a cause has booked, none if it was not posted.
func (l *Ledger[T]) Entry(ctx context.Context, tx T, deal fsm.UUID, cause string) (lines []Line, err error) {
	const question = `SELECT debit, credit, nano FROM deal_ledger WHERE deal_id = $1 AND cause = $2 ORDER BY line`
	err = l.in(tx).Each(ctx, question, []any{deal.String(), cause}, func(scan func(...any) error) error {
		var line Line
		err := scan(&line.Debit, &line.Credit, &line.Nano)
		lines = append(lines, line)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("ledger: read %s of deal %s: %w", cause, deal, err)
	}
	return lines, nil
}

// Balances returns what the entries of a deal leave on each account that they touch. Their sum is
// zero.
func (l *Ledger[T]) Balances(ctx context.Context, tx T, deal fsm.UUID) (map[Account]int64, error) {
	return l.balances(ctx, tx, `SELECT account, CAST(sum(nano) AS bigint) FROM (
			SELECT credit AS account, nano FROM deal_ledger WHERE deal_id = $1
			UNION ALL SELECT debit, -nano FROM deal_ledger WHERE deal_id = $1) AS sides
		GROUP BY account`, deal.String())
}

// Totals returns the balances over all deals. Those of all escrows are summed up under "ESCROW", those
// of all owners under "OWNER". Their sum is zero.
func (l *Ledger[T]) Totals(ctx context.Context, tx T) (map[Account]int64, error) {
	return l.balances(ctx, tx, `SELECT whose, CAST(sum(nano) AS bigint) FROM (
			SELECT CASE WHEN account LIKE 'ESCROW:%' THEN 'ESCROW' WHEN account LIKE 'OWNER:%' THEN 'OWNER' ELSE account END AS whose, nano FROM (
				SELECT credit AS account, nano FROM deal_ledger
				UNION ALL SELECT debit, -nano FROM deal_ledger) AS sides) AS kinds
		GROUP BY whose`)
}

func (l *Ledger[T]) balances(ctx context.Context, tx T, question string, args ...any) (map[Account]int64, error) {
	balances := map[Account]int64{}
	err := l.in(tx).Each(ctx, question, args, func(scan func(...any) error) error {
		var account Account
		var nano int64
		err := scan(&account, &nano)
		balances[account] = nano
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("ledger: read balances: %w", err)
	}
	return balances, nil
}
