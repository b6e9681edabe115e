package registration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// TestLabelsAreOfValidatedPayloads: a payload that is not accepted makes no time series,
// and those that are make so many.
func TestLabelsAreOfValidatedPayloads(t *testing.T) {
	var got []fsm.Label
	l := newLabels(func(m engine.Metric) { got = m.Labels })
	value := func(metric string, labels ...fsm.Label) string {
		l.measure(engine.Metric{Name: metric, Labels: labels})
		return got[0].Value
	}
	environment := func(v string) fsm.Label { return fsm.Label{Name: "environment", Value: v} }
	long := strings.Repeat("x", maxText+1)
	for _, tt := range []struct {
		metric string
		labels []fsm.Label
		want   string
	}{
		{"registration_complete", []fsm.Label{environment("test")}, "test"},
		{"registration_complete", []fsm.Label{environment("")}, ""},
		{"registration_complete", []fsm.Label{environment(long)}, labelInvalid},
		{"registration_complete", []fsm.Label{environment("a\nb")}, labelInvalid},
		{"registration_complete", []fsm.Label{{Name: "node_id", Value: long}}, labelInvalid},
		{"registration_complete", []fsm.Label{{Name: "error_type", Value: "timeout"}}, "timeout"},
		{"registration_validation_error_total", []fsm.Label{environment("test")}, labelUnvalidated},
		{"registration_internal_error", []fsm.Label{environment("test")}, labelUnvalidated},
		{"registration_timeout_total", []fsm.Label{environment("test"), {Name: "state", Value: "validating"}}, labelUnvalidated},
		{"registration_timeout_total", []fsm.Label{environment("test"), {Name: "state", Value: "registered"}}, "test"},
		{"registration_retry_exhausted_total", []fsm.Label{environment("test"), {Name: "last_state", Value: "failed"}}, labelUnvalidated},
		{"registration_fatal_error_total", []fsm.Label{environment("test"), {Name: "from_state", Value: "failed"}}, labelUnvalidated},
	} {
		if v := value(tt.metric, tt.labels...); v != tt.want {
			t.Errorf("%s %v: %q, want %q", tt.metric, tt.labels, v, tt.want)
		}
	}
	for n := range maxLabels {
		value("registration_complete", environment(fmt.Sprint("e-", n)))
	}
	if v := value("registration_complete", environment("one too many")); v != labelOther {
		t.Errorf("one value too many is %q", v)
	}
	if v := value("registration_complete", environment("test")); v != "test" {
		t.Errorf("a value that was there is %q", v)
	}
	own := []fsm.Label{environment(long)}
	if value("registration_complete", own...); own[0].Value != long {
		t.Error("the labels of the caller were changed")
	}
}
