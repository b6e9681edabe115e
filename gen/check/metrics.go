package check

import (
	"regexp"
	"strings"

	"github.com/fsmgen/fsmgen/gen/ir"
)

const (
	codeMetricName  = "FSM090"
	codeBuckets     = "FSM091"
	codeMetricValue = "FSM092"
)

// metricName is a Prometheus name; dots are OpenTelemetry's and become
// underscores.
var metricName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*$`)

// metrics checks what a metrics library would refuse at start-up.
func (s *subject) metrics() {
	known := map[string]*ir.Metric{}
	for _, x := range s.m.Metrics {
		id := strings.ReplaceAll(x.Text, ".", "_")
		if first := known[id]; first != nil {
			s.report(codeMetricName, x.Span, "give one of the two another name", "metrics %q and %q are both %q in Prometheus", first.Text, x.Text, id)
		}
		known[id] = x
		if !metricName.MatchString(x.Text) {
			s.report(codeMetricName, x.Span, "use letters, digits, underscores and dots, not beginning with a digit", "%q is not a metric name", x.Text)
		}
		for _, p := range x.Labels {
			if strings.HasPrefix(p.Name, "__") || p.Name == "le" && x.Type.HasBuckets() {
				s.report(codeMetricName, p.Span, "give the label another name", "label %q is reserved by Prometheus", p.Name)
			}
		}
		s.buckets(x)
		s.metricValue(x)
	}
}

func (s *subject) buckets(x *ir.Metric) {
	if len(x.Buckets) > 0 && !x.Type.HasBuckets() {
		s.report(codeBuckets, x.Span, "remove the buckets, or make it a histogram", "%s %q has buckets", x.Type, x.Text)
	}
	for i := 1; i < len(x.Buckets); i++ {
		if x.Buckets[i] <= x.Buckets[i-1] {
			s.report(codeBuckets, x.Span, "write the upper bounds in rising order, each once", "buckets of %q are not rising: %v after %v", x.Text, x.Buckets[i], x.Buckets[i-1])
		}
	}
}

// metricValue: a histogram or gauge that rows list has something to observe;
// what the engine measures brings its own value.
func (s *subject) metricValue(x *ir.Metric) {
	switch {
	case x.Of.ByRows() && x.Type.NeedsValue() && x.Value == nil:
		s.report(codeMetricValue, x.Span, "add `value: $field`", "%s %q has no value to observe", x.Type, x.Text)
	case !x.Of.ByRows() && x.Value != nil:
		s.report(codeMetricValue, x.Value.Span, "remove the value", "metric %q measures %s and takes no value", x.Text, x.Of)
	case !x.Of.ByRows() && len(x.When) > 0:
		s.report(codeMetricValue, x.Span, "remove the clauses", "metric %q measures %s and takes no `when`", x.Text, x.Of)
	}
}
