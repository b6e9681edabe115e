// Package otel traces the operations of an engine as OpenTelemetry spans.
//
//	engine.New(store, engine.Config{Trace: otel.Trace(provider)}, machines...)
//
// A creation, a firing and a batch of a caller are spans inside the caller's span. An effect and a
// deadline in a worker are spans, and the handler and the event that results are spans inside
// them. A handler finds its span in its context. An effect is carried out later, perhaps by another
// process, so its span starts a new trace. Both traces have the same attribute
// fsm.correlation_id.
//
// # What it guarantees
//
// A span ends with its operation. If the operation fails, the span has the error. If the machine
// rejects the event, the span has no error, but the attribute fsm.rejected.
//
// # What it needs
//
// The caller passes the tracer provider; the package has no global one.
//
// # What it must not know
//
// The package does not know what a state, an event or an effect means. Payloads are never
// attributes, because they may be secret.
package otel
