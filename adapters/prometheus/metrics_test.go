package prometheus_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"math"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/fsmgen/fsmgen/adapters/prometheus"
	"github.com/fsmgen/fsmgen/adapters/sqlite"
	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/generated/wal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

const id = "00000000-0000-4000-8000-000000000001"

// clock is a clock that the test moves.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

// queue fails once.
type queue struct{ failures int }

func (q *queue) SQSDeleteMessage(context.Context, fsm.Dispatch, wal.SQSDeleteMessageEffect) error {
	if q.failures == 0 {
		q.failures++
		return errors.New("unavailable")
	}
	return nil
}

func (q *queue) GovernanceAudit(context.Context, *sql.Tx, fsm.Dispatch, wal.GovernanceAuditEffect) error {
	return nil
}

// scrape returns what Prometheus would get, without the comments.
func scrape(t *testing.T, registry *client.Registry) string {
	t.Helper()
	w := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	if w.Code != 200 {
		t.Fatalf("scrape: %s", w.Body)
	}
	return w.Body.String()
}

// shows fails the test unless every line is there.
func shows(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains("\n"+text, "\n"+line+"\n") {
			t.Errorf("no line %s in\n%s", line, text)
		}
	}
}

// play leads a record of machine wal through a claim that times out and one that
// succeeds, and its effect through a failure and a repeat.
func play(t *testing.T, metrics *prometheus.Metrics, machine engine.Machine[*sql.Tx]) {
	t.Helper()
	c := &clock{time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)}
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "x.db"), sqlite.Options{Synchronous: sqlite.Normal})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	e, err := engine.New[*sql.Tx](store, engine.Config{Clock: c, Metrics: metrics.Record, Logger: slog.New(slog.DiscardHandler)}, machine)
	if err == nil {
		err = e.Migrate(t.Context())
	}
	call := engine.Call{By: wal.ByWorker("w").Caller()}
	if err == nil {
		_, err = e.Create(t.Context(), "wal", id, wal.Discover{Dataset: "goes", ObjectURI: "s3://x", TimeRangeStart: c.now}, call)
	}
	if err != nil {
		t.Fatal(err)
	}
	fire := func(event fsm.Payload) {
		t.Helper()
		c.now = c.now.Add(5 * time.Second)
		if _, err := e.Fire(t.Context(), "wal", id, event, call); err != nil {
			t.Fatal(err)
		}
	}
	step := func(wait time.Duration) {
		t.Helper()
		c.now = c.now.Add(wait)
		if _, err := e.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	fire(wal.Claim{})
	if _, err := e.Fire(t.Context(), "wal", id, wal.Claim{}, call); err == nil {
		t.Fatal("claimed twice")
	}
	step(16 * time.Minute) // the claim has timed out a minute before
	fire(wal.Replay{ReplayAllowed: true, ReplayReason: wal.ReplayCodeIncident})
	fire(wal.Claim{})
	fire(wal.Succeed{
		Attempt: 2, ReceiptHandle: "r", IntegrityStatus: wal.QualityOk, MetadataStatus: wal.QualityOk, StacStatus: wal.StacCreated, ProvenanceStatus: wal.ProvenanceOk,
	})
	step(0)
	step(time.Minute)
}

func TestEngineIsMeasured(t *testing.T) {
	machine := wal.Define[*sql.Tx](&queue{}, wal.DefaultParams())
	registry := client.NewPedanticRegistry()
	metrics, err := prometheus.New(registry, machine)
	if err != nil {
		t.Fatal(err)
	}
	play(t, metrics, machine)
	text := scrape(t, registry)
	shows(t, text,
		"# TYPE wal_attempts_histogram histogram",
		`wal_attempts_histogram_bucket{dataset="goes",le="1"} 1`,
		`wal_attempts_histogram_bucket{dataset="goes",le="2"} 2`,
		`wal_attempts_histogram_bucket{dataset="goes",le="10"} 2`,
		`wal_attempts_histogram_sum{dataset="goes"} 3`,
		"# TYPE nodd_sns_wal_records_total counter",
		`nodd_sns_wal_records_total{status="failed"} 1`,
		`nodd_sns_wal_records_total{status="succeeded"} 1`,
		`nodd_sns_wal_replays_total{replay_reason="incident"} 1`,
		`fsm_transitions_total{event="claim",from="pending",machine="wal",to="in_progress"} 2`,
		`fsm_transitions_total{event="discover",from="",machine="wal",to="pending"} 1`,
		`fsm_transitions_total{event="recover_stale_claim",from="in_progress",machine="wal",to="failed"} 1`,
		`fsm_effect_attempts_total{effect="sqs.delete_message",machine="wal",outcome="retry_later"} 1`,
		`fsm_effect_attempts_total{effect="sqs.delete_message",machine="wal",outcome="delivered"} 1`,
		`fsm_deadline_lag_seconds_sum{event="recover_stale_claim",machine="wal"} 60`,
		`fsm_outbox_lag_seconds_count{effect="sqs.delete_message",machine="wal"} 2`,
		`fsm_state_duration_seconds_sum{machine="wal",state="pending"} 10`,
		`fsm_state_duration_seconds_count{machine="wal",state="in_progress"} 2`,
	)
	if !strings.Contains(text, `fsm_rejections_total{event="claim",machine="wal",reason="`) {
		t.Errorf("the rejection is not counted in\n%s", text)
	}
	if strings.Contains(text, prometheus.Dropped+"{") {
		t.Errorf("a measurement was dropped:\n%s", text)
	}
}

// TestEveryConstantIsTaken: what the engine measures has a place here.
func TestEveryConstantIsTaken(t *testing.T) {
	registry := client.NewPedanticRegistry()
	metrics, err := prometheus.New(registry)
	if err != nil {
		t.Fatal(err)
	}
	for name, labels := range map[string][]string{
		engine.MetricTransitions: {"from", "event", "to"}, engine.MetricRejections: {"event", "reason"}, engine.MetricConflicts: {"event"},
		engine.MetricAttempts: {"effect", "outcome"}, engine.MetricLateDeadlines: {"event"}, engine.MetricRefusedDeadlines: {"event"},
		engine.MetricRefused: {"event"}, engine.MetricOutboxLag: {"effect"}, engine.MetricDeadlineLag: {"event"},
		engine.MetricStateDuration: {"state"}, engine.MetricFatal: {"event"},
	} {
		var list []fsm.Label
		for _, l := range labels {
			list = append(list, fsm.Label{Name: l, Value: "x"})
		}
		metrics.Record(engine.Metric{Machine: "m", Name: name, Value: 1, Labels: list})
		if text := scrape(t, registry); !strings.Contains(text, "\n"+name+"{") && !strings.Contains(text, "\n"+name+"_sum{") {
			t.Errorf("%s is not shown", name)
		}
	}
	if text := scrape(t, registry); strings.Contains(text, prometheus.Dropped) {
		t.Errorf("dropped:\n%s", text)
	}
}

// declared is a machine that declares metrics and does nothing else.
type declared struct {
	name    string
	metrics []fsm.EffectInfo
}

func (d declared) Name() string              { return d.name }
func (d declared) Effects() []fsm.EffectInfo { return d.metrics }

func metric(name, kind string, buckets ...float64) fsm.EffectInfo {
	return fsm.EffectInfo{Name: name, Kind: fsm.EffectMetric, Metric: kind, Buckets: buckets}
}

func TestMeasurementsThatDoNotFitAreDropped(t *testing.T) {
	registry := client.NewPedanticRegistry()
	counted := metric("a.b", "counter")
	counted.Labels = []string{"kind"}
	m := declared{"m", []fsm.EffectInfo{counted, metric("depth", "gauge"), metric("size", "histogram", 1, 2)}}
	metrics, err := prometheus.New(registry, m)
	if err != nil {
		t.Fatal(err)
	}
	label := func(name string) []fsm.Label { return []fsm.Label{{Name: name, Value: "v"}} }
	for _, x := range []engine.Metric{
		{Name: "a.b", Value: 2, Labels: label("kind")},
		{Name: "depth", Value: 3}, {Name: "depth", Value: -4}, // a gauge may go anywhere
		{Name: "a.b", Value: -1, Labels: label("kind")},                             // a counter goes up
		{Name: "a.b", Value: math.NaN(), Labels: label("kind")},                     //
		{Name: "a.b", Value: 1, Labels: label("other")},                             // not declared
		{Name: "a.b", Value: 1, Labels: []fsm.Label{{Name: "kind", Value: "\xff"}}}, // no text
		{Name: "size", Value: 1, Labels: label("kind")},
		{Name: "unknown", Value: 1},
	} {
		x.Machine = "m"
		metrics.Record(x)
	}
	shows(t, scrape(t, registry),
		`a_b{kind="v"} 2`, "depth -4",
		`fsm_measurements_dropped_total{machine="m",metric="a.b"} 4`,
		`fsm_measurements_dropped_total{machine="m",metric="size"} 1`,
		`fsm_measurements_dropped_total{machine="m",metric="unknown"} 1`,
	)
}

func TestNewFindsWhatDoesNotFit(t *testing.T) {
	for _, tt := range []struct {
		name     string
		machines []prometheus.Machine
		want     string
	}{
		{"two machines", []prometheus.Machine{declared{"a", []fsm.EffectInfo{metric("x.y", "counter")}}, declared{"b", []fsm.EffectInfo{metric("x_y", "counter")}}}, "machine a"},
		{"the engine's", []prometheus.Machine{declared{"a", []fsm.EffectInfo{metric(engine.MetricConflicts, "counter")}}}, "the engine"},
		{"a name", []prometheus.Machine{declared{"a", []fsm.EffectInfo{metric("1x", "counter")}}}, `"1x" is not a name`},
		{"a type", []prometheus.Machine{declared{"a", []fsm.EffectInfo{metric("x", "summary")}}}, `the type "summary"`},
		{"a label", []prometheus.Machine{declared{"a", []fsm.EffectInfo{{Name: "x", Kind: fsm.EffectMetric, Metric: "histogram", Labels: []string{"le"}}}}}, `labels ["le"]`},
		{"buckets", []prometheus.Machine{declared{"a", []fsm.EffectInfo{metric("x", "histogram", 2, 1)}}}, "must ascend"},
	} {
		registry := client.NewPedanticRegistry()
		if _, err := prometheus.New(registry, tt.machines...); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
		if _, err := prometheus.New(registry); err != nil {
			t.Errorf("%s left something behind: %v", tt.name, err)
		}
	}
	registry := client.NewPedanticRegistry()
	if _, err := prometheus.New(registry); err != nil {
		t.Fatal(err)
	}
	if _, err := prometheus.New(registry); err == nil {
		t.Error("one registry took two engines under the same names")
	}
}

// TestTwoEnginesShareARegistry: a label tells them apart.
func TestTwoEnginesShareARegistry(t *testing.T) {
	registry := client.NewPedanticRegistry()
	for _, name := range []string{"1", "2"} {
		m := declared{"m", []fsm.EffectInfo{metric("n", "counter")}}
		metrics, err := prometheus.New(client.WrapRegistererWith(client.Labels{"engine": name}, registry), m)
		if err != nil {
			t.Fatal(err)
		}
		metrics.Record(engine.Metric{Machine: "m", Name: "n", Value: 1})
	}
	shows(t, scrape(t, registry), `n{engine="1"} 1`, `n{engine="2"} 1`)
}

// TestSpecsRegister: no metric of a spec has a name or buckets that Prometheus
// refuses.
func TestSpecsRegister(t *testing.T) {
	registry := client.NewPedanticRegistry()
	r := registration.Define[*sql.Tx](nil, registration.DefaultParams())
	metrics, err := prometheus.New(registry, r, wal.Define[*sql.Tx](nil, wal.DefaultParams()))
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range r.Effects() {
		if info.Kind == fsm.EffectMetric {
			var labels []fsm.Label
			for _, name := range info.Labels {
				labels = append(labels, fsm.Label{Name: name, Value: "v"})
			}
			metrics.Record(engine.Metric{Machine: "registration", Name: info.Name, Value: 50, Labels: labels})
		}
	}
	shows(t, scrape(t, registry),
		`registration_complete{deployment_id="v",environment="v",node_id="v"} 50`,
		`registration_state_duration_ms_bucket{node_id="v",outcome="v",state="v",le="30000"} 1`)
}

// TestRecordIsSafe runs the first measurements of a metric at once.
func TestRecordIsSafe(t *testing.T) {
	registry := client.NewPedanticRegistry()
	counted := metric("n", "counter")
	counted.Labels = []string{"l"}
	metrics, err := prometheus.New(registry, declared{"m", []fsm.EffectInfo{counted}})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			metrics.Record(engine.Metric{Machine: "m", Name: "n", Value: 1, Labels: []fsm.Label{{Name: "l", Value: "v"}}})
			if _, err := registry.Gather(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	shows(t, scrape(t, registry), `n{l="v"} 16`)
}
