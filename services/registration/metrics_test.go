package registration_test

import (
	"database/sql"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	client "github.com/prometheus/client_golang/prometheus"
	"gopkg.in/yaml.v3"

	"github.com/fsmgen/fsmgen/adapters/prometheus"
	machine "github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/internal/progress"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// documented reads a list of document 001: a line an entry, the first says what
// it is.
func documented(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")[1:]
}

// TestMetricsOfTheDocument: every metric has the type, the labels and the buckets
// of document 001, and there is no other.
func TestMetricsOfTheDocument(t *testing.T) {
	t.Parallel()
	var declared []string
	for _, info := range machine.EffectInfos() {
		if info.Kind != fsm.EffectMetric {
			continue
		}
		buckets := "-"
		if len(info.Buckets) > 0 {
			var texts []string
			for _, b := range info.Buckets {
				texts = append(texts, fmt.Sprint(int(b)))
			}
			buckets = strings.Join(texts, ",")
		}
		declared = append(declared, fmt.Sprintf("%s %s %s %s", info.Name, info.Metric, strings.Join(info.Labels, ","), buckets))
	}
	want := documented(t, "testdata/metrics.txt")
	slices.Sort(declared)
	slices.Sort(want)
	if !slices.Equal(declared, want) {
		t.Errorf("declared are\n%s\nthe document has\n%s", strings.Join(declared, "\n"), strings.Join(want, "\n"))
	}
}

// TestEveryMetricIsMeasured plays what each metric of document 001 is about, and
// looks for it where Prometheus does.
func TestEveryMetricIsMeasured(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	registry := client.NewRegistry()
	collector, err := prometheus.New(registry, machine.Define[*sql.Tx](nil, machine.DefaultParams()))
	if err != nil {
		t.Fatal(err)
	}
	s.options.Metrics = collector.Record
	s.works()
	runEverything(s)
	var missing []string
	for w := (progress.Watch{}); ; {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		missing = nil
		for _, line := range documented(t, "testdata/metrics.txt") {
			name, _, _ := strings.Cut(line, " ")
			measured := false
			for _, f := range families {
				measured = measured || f.GetName() == name && len(f.GetMetric()) > 0
				if f.GetName() == prometheus.Dropped && len(f.GetMetric()) > 0 {
					t.Fatalf("measurements were dropped: %v", f)
				}
			}
			if !measured {
				missing = append(missing, name)
			}
		}
		if missing == nil {
			return
		}
		if err := w.Pause(t.Context(), missing); err != nil {
			t.Fatalf("never measured: %v", err)
		}
	}
}

// runEverything goes the ways of the other tests, one after the other.
func runEverything(s *fixture) {
	// A payload that is wrong, and a registration that can't be recorded.
	wrong := payload("invalid")
	wrong["consul_service_name"] = "not a name"
	s.registersWith("invalid", wrong)
	s.await("invalid", machine.Failed)
	mend := s.refuse("start_consul_registration")
	s.registers("fatal")
	s.reach("fatal", machine.Failed, quick)
	mend()
	// A database that is away.
	s.database.Refuse()
	s.registers("refused")
	s.reach("refused", machine.Failed, quick)
	s.database.Restore()
	// A Consul that is away until all retries are spent; one that is found late.
	s.consul.Refuse()
	s.registers("late")
	late := s.reach("late", machine.PartialRegistered, quick)
	s.registers("exhausted")
	for range 3 {
		s.reach("exhausted", machine.PartialRegistered, quick)
		s.fires("exhausted", machine.Retry{})
	}
	s.reach("exhausted", machine.PartialRegistered, quick)
	if _, err := s.server.Trigger(s.t.Context(), "exhausted", machine.Retry{}, call("")); err == nil {
		s.t.Error("the fourth retry was accepted")
	}
	s.consul.Restore()
	if err := s.client.Register(s.t.Context(), serviceOf("late", late.RegistrationID.String())); err != nil {
		s.t.Fatal(err)
	}
	if err := s.server.Reconcile(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	s.await("late", machine.Registered)
	// Deregistrations of all kinds.
	for _, d := range []struct {
		node       string
		fault      func()
		timesOut   bool
		afterwards func()
	}{
		{"clean", func() {}, false, func() {}},
		{"consul-refuses", s.consul.Refuse, false, s.consul.Restore},
		{"database-refuses", s.database.Refuse, false, s.database.Restore},
		{"consul-hangs", func() { s.consul.Swallow(true) }, true, func() { s.restarts().mended() }},
		{"database-hangs", func() { s.database.Swallow(true) }, true, func() { s.restarts().mended() }},
	} {
		s.registers(d.node)
		s.reach(d.node, machine.Registered, quick)
		d.fault()
		s.fires(d.node, machine.Deregister{})
		if d.timesOut {
			s.clock.advance(16 * time.Second)
		}
		s.await(d.node, machine.Deregistered)
		d.afterwards()
	}
	// What is left is found; at first Consul is away.
	s.clock.advance(2 * time.Hour)
	s.consul.Refuse()
	if _, err := s.server.GC(s.t.Context()); err == nil {
		s.t.Error("a collector that can't reach Consul did not say so")
	}
	s.consul.Restore()
	s.collects()
}

// TestAlertsOfTheDocument: each row of the alert table is a rule with its
// threshold, its severity and its action; tools/promcheck has Prometheus' own
// parser read them.
func TestAlertsOfTheDocument(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr         string
				Labels, Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	rules := file.Groups[0].Rules
	rows := documented(t, "testdata/alerts.txt")
	if len(rules) != len(rows) {
		t.Fatalf("%d rules for %d rows", len(rules), len(rows))
	}
	names := map[string]bool{}
	for i, row := range rows {
		cells := strings.Split(row, " | ")
		metric, quantile, _ := strings.Cut(cells[0], " ")
		threshold := regexp.MustCompile(`^\d+`).FindString(cells[1])
		r := rules[i]
		if !strings.Contains(r.Expr, metric) || !strings.HasSuffix(r.Expr, "> "+threshold) ||
			(quantile == "p99") != strings.HasPrefix(r.Expr, "histogram_quantile(0.99") ||
			strings.HasSuffix(cells[1], "/min") != strings.Contains(r.Expr, "/ 5 >") {
			t.Errorf("row %q is the rule %q", row, r.Expr)
		}
		if r.Labels["severity"] != strings.ToLower(cells[2]) || r.Annotations["summary"] != cells[3] {
			t.Errorf("row %q is the rule %+v", row, r)
		}
		if names[r.Alert] {
			t.Errorf("two alerts are called %s", r.Alert)
		}
		names[r.Alert] = true
	}
}
