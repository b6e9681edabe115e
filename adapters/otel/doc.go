// Package otel shows what an engine does as OpenTelemetry spans.
//
//	engine.New(store, engine.Config{Trace: otel.Trace(provider)}, machines...)
//
// Each creation, firing and batch of a caller is a span within the caller's own.
// Each effect and each deadline in a worker is one, with the
// handler and the event that came of it as spans within; a handler finds its
// span in its context. An effect is carried out later and elsewhere than the
// event that asked for it, so it begins a trace of its own: the attribute
// fsm.correlation_id is the same in both.
//
// # What it guarantees
//
// A span ends with its operation and says what came of it: a failure is an
// error of the span; a refusal of the machine is none, since that is an answer,
// and is told by the attribute fsm.rejected.
//
// # What it needs
//
// A tracer provider, given by the caller: nothing here is global.
//
// # What it must not know
//
// What a state, an event or an effect means. Payloads are never attributes:
// they may be secret.
package otel
