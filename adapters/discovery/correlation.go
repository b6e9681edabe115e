package discovery

import "context"

type correlationKey struct{}

// WithCorrelation returns a context with a correlation id. Requests made with it carry the id.
func WithCorrelation(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, correlationKey{}, id)
}

// Correlation returns the correlation id of a context, "" if there is none.
func Correlation(ctx context.Context) string {
	id, _ := ctx.Value(correlationKey{}).(string)
	return id
}
