package registration_test

import (
	"strings"
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/fsmgen/fsmgen/adapters/otel"
	machine "github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/services/registration"
)

// TestOneTrace: one trace runs from the first event to the last effect, over the
// restart of the daemon too, and its id is the correlation id.
func TestOneTrace(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	spans := tracetest.NewInMemoryExporter()
	provider := sdk.NewTracerProvider(sdk.WithSyncer(spans))
	s.options.Trace = registration.OneTrace(otel.Trace(provider))
	const correlation = "3f2b7a7c-0d7e-4a51-9d5c-0d7e4a519d5c"
	if _, err := s.works().server.Register(t.Context(), "n1", encoded(t, payload("n1")), registration.Call{Correlation: correlation}); err != nil {
		t.Fatal(err)
	}
	s.await("n1", machine.Registered)
	s.restarts().fires("n1", machine.Deregister{})
	s.await("n1", machine.Deregistered)
	s.stop()
	seen := map[string]bool{}
	for _, span := range spans.GetSpans() {
		if got := span.SpanContext.TraceID().String(); got != strings.ReplaceAll(correlation, "-", "") {
			t.Errorf("span %s is of the trace %s", span.Name, got)
		}
		seen[span.Name] = true
	}
	for _, name := range []string{"create registration create", "fire registration REGISTER", "effect registration consul.register", "fire registration CONSUL_SUCCEEDED", "effect registration postgres.delete_registration"} {
		if !seen[name] {
			t.Errorf("no span %q; there are %v", name, seen)
		}
	}
}
