package sqltx

import "context"

// Tx runs statements in one transaction, which it neither commits nor rolls back.
type Tx interface {
	// Exec runs a statement, or several without args.
	Exec(ctx context.Context, statement string, args ...any) error
	// Each runs a question and calls row for each row of the answer, with a function that scans it.
	// row must not use the transaction.
	Each(ctx context.Context, question string, args []any, row func(scan func(...any) error) error) error
	// Refused reports whether a failed Exec or Each broke a rule of a table: a CHECK, a unique
	// constraint, or what a trigger refuses.
	Refused(err error) bool
}

// One runs a question and scans the first row of the answer into targets. It reports whether there
// is one.
func One(ctx context.Context, tx Tx, question string, args []any, targets ...any) (found bool, err error) {
	err = tx.Each(ctx, question, args, func(scan func(...any) error) error {
		if found {
			return nil
		}
		found = true
		return scan(targets...)
	})
	return found, err
}
