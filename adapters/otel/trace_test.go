package otel_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/fsmgen/fsmgen/adapters/otel"
	"github.com/fsmgen/fsmgen/adapters/sqlite"
	"github.com/fsmgen/fsmgen/generated/gc"
	"github.com/fsmgen/fsmgen/generated/wal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

const id = "00000000-0000-4000-8000-000000000001"

// clock is a clock that the test moves.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

// queue fails, and makes a span of its own.
type queue struct{ tracer trace.Tracer }

func (q queue) SQSDeleteMessage(ctx context.Context, _ fsm.Dispatch, _ wal.SQSDeleteMessageEffect) error {
	_, span := q.tracer.Start(ctx, "the handler's own")
	span.End()
	return errors.New("unavailable")
}

func (queue) GovernanceAudit(context.Context, *sql.Tx, fsm.Dispatch, wal.GovernanceAuditEffect) error {
	return nil
}

// describe writes spans in the order in which they ended: name, parent, status
// and attributes.
func describe(spans tracetest.SpanStubs) []string {
	names := map[trace.SpanID]string{}
	for _, s := range spans {
		names[s.SpanContext.SpanID()] = s.Name
	}
	var out []string
	for _, s := range spans {
		line := s.Name
		if parent := names[s.Parent.SpanID()]; parent != "" {
			line += " < " + parent
		}
		for _, a := range s.Attributes {
			if a.Key != otel.KeyMachine && a.Key != otel.KeyRecord {
				line += fmt.Sprintf(" %s=%s", a.Key, a.Value.String())
			}
		}
		if s.Status.Code == codes.Error {
			line += " error: " + s.Status.Description
		}
		out = append(out, line)
	}
	return out
}

// fixture is a traced engine with one record to work on.
type fixture struct {
	*testing.T
	clock  *clock
	spans  *tracetest.InMemoryExporter
	own    trace.Tracer // not the engine's
	engine *engine.Engine[*sql.Tx]
}

func newFixture(t *testing.T) fixture {
	s := fixture{T: t, clock: &clock{time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)}, spans: tracetest.NewInMemoryExporter()}
	provider := sdk.NewTracerProvider(sdk.WithSyncer(s.spans))
	s.own = provider.Tracer("test")
	s.engine = newEngine(t, engine.Config{Clock: s.clock, Trace: otel.Trace(provider)}, wal.Define[*sql.Tx](queue{s.own}, wal.DefaultParams()))
	return s
}

// expect compares the spans since the last call.
func (s fixture) expect(want ...string) {
	s.Helper()
	if got := describe(s.spans.GetSpans()); !slices.Equal(got, want) {
		s.Errorf("got\n%q\nwant\n%q", got, want)
	}
	s.spans.Reset()
}

func call(correlation string) engine.Call {
	return engine.Call{By: wal.ByWorker("w").Caller(), Correlation: correlation}
}

func (s fixture) create(ctx context.Context, correlation string) {
	s.Helper()
	event := wal.Discover{Dataset: "goes", ObjectURI: "s3://x", TimeRangeStart: s.clock.now}
	if _, err := s.engine.Create(ctx, "wal", id, event, call(correlation)); err != nil {
		s.Fatal(err)
	}
}

func (s fixture) fire(correlation string, events ...fsm.Payload) {
	s.Helper()
	for _, event := range events {
		if _, err := s.engine.Fire(s.Context(), "wal", id, event, call(correlation)); err != nil {
			s.Fatal(err)
		}
	}
}

func (s fixture) step() {
	s.Helper()
	if _, err := s.engine.Step(s.Context()); err != nil {
		s.Fatal(err)
	}
}

func TestCallsAreSpans(t *testing.T) {
	s := newFixture(t)
	ctx, around := s.own.Start(t.Context(), "request")
	s.create(ctx, "c1")
	around.End()
	created := s.spans.GetSpans()[0]
	if !slices.Contains(created.Attributes, otel.KeyRecord.String(id)) || !slices.Contains(created.Attributes, otel.KeyMachine.String("wal")) {
		t.Errorf("attributes %v", created.Attributes)
	}
	s.expect("create wal discover < request fsm.correlation_id=c1 fsm.event=discover", "request")

	s.fire("c2", wal.Claim{})
	if _, err := s.engine.Fire(t.Context(), "wal", id, wal.Claim{}, call("c3")); err == nil {
		t.Fatal("claimed twice")
	}
	s.expect(
		"fire wal claim fsm.correlation_id=c2 fsm.event=claim",
		"fire wal claim fsm.correlation_id=c3 fsm.event=claim fsm.rejected="+string(fsm.ErrInvalidTransition)+" fsm.state=in_progress",
	)

	if _, err := s.engine.FireBatch(t.Context(), []engine.Firing{{Machine: "wal", ID: id, Event: wal.Claim{}, Call: call("c5")}}); err != nil {
		t.Fatal(err)
	}
	if spans := s.spans.GetSpans(); len(spans) != 1 || spans[0].Name != "batch" || !slices.Contains(spans[0].Attributes, otel.KeyBatch.Int(1)) {
		t.Errorf("batch: %v", describe(spans))
	}
}

func TestTasksAreSpans(t *testing.T) {
	s := newFixture(t)
	s.create(t.Context(), "c1")
	s.fire("c2", wal.Claim{})
	s.spans.Reset()
	s.clock.now = s.clock.now.Add(time.Hour)
	s.step()
	s.expect(
		"fire wal recover_stale_claim < deadline wal recover_stale_claim fsm.correlation_id=c2 fsm.event=recover_stale_claim",
		"deadline wal recover_stale_claim fsm.correlation_id=c2 fsm.event=recover_stale_claim",
	)

	s.fire("c4", wal.Replay{ReplayAllowed: true, ReplayReason: wal.ReplayCodeIncident}, wal.Claim{}, wal.Succeed{
		Attempt: 2, ReceiptHandle: "r", IntegrityStatus: wal.QualityOk, MetadataStatus: wal.QualityOk, StacStatus: wal.StacCreated, ProvenanceStatus: wal.ProvenanceOk,
	})
	s.spans.Reset()
	s.step()
	failure := "wal " + id + ": effect sqs.delete_message: unavailable"
	s.expect(
		"the handler's own < handle wal sqs.delete_message",
		"handle wal sqs.delete_message < effect wal sqs.delete_message fsm.correlation_id=c4 fsm.effect=sqs.delete_message fsm.attempt=1 error: "+failure,
		"effect wal sqs.delete_message fsm.correlation_id=c4 fsm.effect=sqs.delete_message fsm.attempt=1",
	)
}

// TestFailureOfTheStoreIsAnError: what no machine refused is an error.
func TestFailureOfTheStoreIsAnError(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	e := newEngine(t, engine.Config{Trace: otel.Trace(sdk.NewTracerProvider(sdk.WithSyncer(spans)))}, gc.Define[*sql.Tx](nil, gc.DefaultParams()))
	if _, err := e.Fire(t.Context(), "gc", id, gc.DeleteRequest{Authorized: true}, engine.Call{}); !errors.Is(err, engine.ErrNotFound) {
		t.Fatal(err)
	}
	s := spans.GetSpans()
	if len(s) != 1 || s[0].Status.Code != codes.Error || len(s[0].Events) != 1 {
		t.Errorf("spans %+v", s)
	}
	i := slices.IndexFunc(s[0].Attributes, func(a attribute.KeyValue) bool { return a.Key == otel.KeyCorrelation })
	if i < 0 || s[0].Attributes[i].Value.AsString() == "" {
		t.Error("a correlation id that the engine made is not shown")
	}
}

func newEngine(t *testing.T, c engine.Config, machine engine.Machine[*sql.Tx]) *engine.Engine[*sql.Tx] {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "x.db"), sqlite.Options{Synchronous: sqlite.Normal})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	c.Logger = slog.New(slog.DiscardHandler)
	e, err := engine.New[*sql.Tx](store, c, machine)
	if err == nil {
		err = e.Migrate(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return e
}
