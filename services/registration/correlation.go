package registration

import "context"

type correlationKey struct{}

// WithCorrelation returns a context whose calls belong to the correlation id:
// whoever goes outside with it takes the id along.
func WithCorrelation(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, correlationKey{}, id)
}

// Correlation returns the correlation id of a context, "" where there is none.
func Correlation(ctx context.Context) string {
	id, _ := ctx.Value(correlationKey{}).(string)
	return id
}
