package promcheck

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
)

const alerts = "../../services/registration/alerts.yaml"

func rules(t *testing.T) []rulefmt.Rule {
	t.Helper()
	text, err := os.ReadFile(alerts)
	if err != nil {
		t.Fatal(err)
	}
	groups, errs := rulefmt.Parse(text, false, model.LegacyValidation, parser.NewParser(parser.Options{}), slog.New(slog.NewTextHandler(io.Discard, nil)))
	for _, err := range errs {
		t.Error(err)
	}
	if t.Failed() || len(groups.Groups) != 1 {
		t.FailNow()
	}
	return groups.Groups[0].Rules
}

// TestRegistrationAlertsParse: what promtool check rules does.
func TestRegistrationAlertsParse(t *testing.T) {
	const rows = 19 // of document 001, Alerting Thresholds Summary
	if found := rules(t); len(found) != rows {
		t.Errorf("%d rules", len(found))
	}
}

// TestRegistrationAlertsFire plays series to the rules: a node that fails once is
// a counter that is 1 from its first sample on, and has to be seen.
func TestRegistrationAlertsFire(t *testing.T) {
	many := func(metric string, n int) string {
		text := ""
		for i := range n {
			text += fmt.Sprintf("  %s{node_id=\"n%d\"} _x55 1+0x30\n", metric, i)
		}
		return text
	}
	for _, tt := range []struct {
		alert, series string
		fires         bool
	}{
		{"RegistrationFatalError", many("registration_fatal_error_total", 1), true},
		{"RegistrationFatalError", "  registration_fatal_error_total{node_id=\"n\"} 3+0x90\n", false}, // long ago
		{"RegistrationFatalError", "  registration_fatal_error_total{node_id=\"n\"} 3+0x50 4+0x30\n", true},
		{"RegistrationPartial", many("registration_partial", 30), true},  // 30 nodes within five minutes
		{"RegistrationPartial", many("registration_partial", 25), false}, // 5 a minute are allowed
		{"OrphanResourceAgeOld", "  orphan_resource_age_seconds{node_id=\"n\"} 3601+0x90\n", true},
		{"OrphanResourceAgeOld", "  orphan_resource_age_seconds{node_id=\"n\"} 3600+0x90\n", false},
		{"OrphanResourceDetected", many("orphan_resource_detected_total", 6), true},
		{"OrphanResourceDetected", many("orphan_resource_detected_total", 5), false},
		{
			"RegistrationStateDurationP99",
			"  registration_state_duration_ms_bucket{state=\"registering_consul\",le=\"5000\"} _x55 0+0x30\n" +
				"  registration_state_duration_ms_bucket{state=\"registering_consul\",le=\"10000\"} _x55 9+0x30\n" +
				"  registration_state_duration_ms_bucket{state=\"registering_consul\",le=\"+Inf\"} _x55 9+0x30\n", true,
		},
		{
			"RegistrationStateDurationP99",
			"  registration_state_duration_ms_bucket{state=\"registered\",le=\"5000\"} _x55 0+0x30\n" +
				"  registration_state_duration_ms_bucket{state=\"registered\",le=\"+Inf\"} _x55 9+0x30\n", false,
		},
	} {
		if got := fires(t, tt.alert, "load 1m\n"+tt.series); got != tt.fires {
			t.Errorf("%s is %v for\n%s", tt.alert, got, tt.series)
		}
	}
}

// fires evaluates an alert 57 minutes after the first sample.
func fires(t *testing.T, alert, load string) bool {
	t.Helper()
	storage := promqltest.LoadedStorage(t, load)
	defer storage.Close()
	engine := promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery)
	for _, r := range rules(t) {
		if r.Alert != alert {
			continue
		}
		q, err := engine.NewInstantQuery(t.Context(), storage, promql.NewPrometheusQueryOpts(false, 0), r.Expr, time.Unix(0, 0).Add(57*time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		found := q.Exec(t.Context())
		if found.Err != nil {
			t.Fatal(found.Err)
		}
		vector, err := found.Vector()
		if err != nil {
			t.Fatal(err)
		}
		return len(vector) > 0
	}
	t.Fatalf("no alert is called %s", alert)
	return false
}
