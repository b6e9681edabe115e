package registration

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// OneTrace makes one trace of a registration, from the first event to the last
// effect, whichever process does what and when: its id is the correlation id,
// which is a UUID as a trace id is 16 bytes. inner makes the spans.
func OneTrace(inner engine.TraceFunc) engine.TraceFunc {
	return func(ctx context.Context, op engine.Operation) (context.Context, func(error)) {
		id, err := fsm.ParseUUID(op.Correlation)
		if err == nil && trace.SpanContextFromContext(ctx).TraceID() != trace.TraceID(id) {
			ctx = trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
				TraceID: trace.TraceID(id), SpanID: trace.SpanID(id[8:]), TraceFlags: trace.FlagsSampled, Remote: true,
			}))
		}
		return inner(ctx, op)
	}
}
