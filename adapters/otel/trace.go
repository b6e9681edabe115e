package otel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Scope is the name of the instrumentation.
const Scope = "github.com/fsmgen/fsmgen/adapters/otel"

// The attributes of the spans.
const (
	KeyMachine     = attribute.Key("fsm.machine")
	KeyRecord      = attribute.Key("fsm.record")
	KeyEvent       = attribute.Key("fsm.event")
	KeyEffect      = attribute.Key("fsm.effect")
	KeyAttempt     = attribute.Key("fsm.attempt")
	KeyCorrelation = attribute.Key("fsm.correlation_id")
	KeyBatch       = attribute.Key("fsm.batch_size")
	KeyRejected    = attribute.Key("fsm.rejected") // the reason
	KeyState       = attribute.Key("fsm.state")    // in which it was rejected
)

// Trace returns the hook for engine.Config.Trace.
func Trace(provider trace.TracerProvider) engine.TraceFunc {
	tracer := provider.Tracer(Scope)
	return func(ctx context.Context, op engine.Operation) (context.Context, func(error)) {
		ctx, span := tracer.Start(ctx, title(op), trace.WithSpanKind(kind(op.Kind)), trace.WithAttributes(attributes(op)...))
		return ctx, func(err error) {
			conclude(span, err)
			span.End()
		}
	}
}

// title is the name of a span: of few values, as the record is an attribute.
func title(op engine.Operation) string {
	if op.Kind == engine.OpBatch {
		return string(op.Kind)
	}
	return string(op.Kind) + " " + op.Machine + " " + op.Name
}

// kind returns the kind of the span by what is at the other end: an effect and a deadline come out of a
// queue, a handler calls others.
func kind(k engine.OperationKind) trace.SpanKind {
	switch k {
	case engine.OpEffect, engine.OpDeadline:
		return trace.SpanKindConsumer
	case engine.OpHandle:
		return trace.SpanKindClient
	case engine.OpCreate, engine.OpFire, engine.OpBatch:
	}
	return trace.SpanKindInternal
}

func attributes(op engine.Operation) []attribute.KeyValue {
	if op.Kind == engine.OpBatch {
		return []attribute.KeyValue{KeyBatch.Int(op.Size)}
	}
	out := []attribute.KeyValue{KeyMachine.String(op.Machine), KeyRecord.String(op.Record), KeyCorrelation.String(op.Correlation)}
	switch op.Kind {
	case engine.OpEffect, engine.OpHandle:
		return append(out, KeyEffect.String(op.Name), KeyAttempt.Int(op.Attempt))
	case engine.OpCreate, engine.OpFire, engine.OpBatch, engine.OpDeadline:
	}
	return append(out, KeyEvent.String(op.Name))
}

// conclude records the result of an operation.
func conclude(span trace.Span, err error) {
	var refused *fsm.Rejection
	switch {
	case err == nil:
	case errors.As(err, &refused) && !errors.Is(err, engine.ErrRefused):
		span.SetAttributes(KeyRejected.String(string(refused.Reason)), KeyState.String(refused.State))
	default:
		span.RecordError(err)
		span.SetStatus(codes.Error, err.Error())
	}
}
