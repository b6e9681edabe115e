package engine

import "context"

// insideTransaction is the key that marks the contexts of a transaction.
type insideTransaction struct{}

// inside returns the context for user code that runs within a transaction.
func inside(ctx context.Context) context.Context {
	return context.WithValue(ctx, insideTransaction{}, true)
}

// checkNested returns ErrNested within a transaction. A second transaction waits for
// the first for ever on SQLite, and on PostgreSQL commits without it.
func checkNested(ctx context.Context) error {
	if ctx.Value(insideTransaction{}) != nil {
		return ErrNested
	}
	return nil
}
