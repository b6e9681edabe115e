package prometheus

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// definition is a metric without its labels.
type definition struct {
	name, help, kind string
	buckets          []float64 // of a histogram; none: those of the client library
}

// spelled returns the name in Prometheus for the name in a spec.
func spelled(name string) string { return strings.ReplaceAll(name, ".", "_") }

// family is a metric with all its label values.
type family struct {
	labels    []string // in the order in which they are measured
	take      func(value float64, labels []string) bool
	collector prometheus.Collector
}

// newFamily returns a family, or an error if Prometheus would refuse it.
func newFamily(d definition, labels []string) (*family, error) {
	if !wellFormed(d.name) {
		return nil, fmt.Errorf("%q is not a name that Prometheus accepts for a metric", d.name)
	}
	if !slices.IsSorted(d.buckets) {
		return nil, fmt.Errorf("the buckets of metric %s must ascend", d.name)
	}
	if !usable(labels, d.kind) {
		return nil, fmt.Errorf("metric %s can't have the labels %q", d.name, labels)
	}
	f := &family{labels: labels}
	switch d.kind {
	case "counter":
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: d.name, Help: d.help}, labels)
		f.collector, f.take = v, func(value float64, labels []string) bool {
			c, err := v.GetMetricWithLabelValues(labels...)
			if err != nil || value < 0 || math.IsNaN(value) {
				return false
			}
			c.Add(value)
			return true
		}
	case "gauge":
		v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: d.name, Help: d.help}, labels)
		f.collector, f.take = v, func(value float64, labels []string) bool {
			g, err := v.GetMetricWithLabelValues(labels...)
			if err == nil {
				g.Set(value)
			}
			return err == nil
		}
	case "histogram":
		v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: d.name, Help: d.help, Buckets: d.buckets}, labels)
		f.collector, f.take = v, func(value float64, labels []string) bool {
			h, err := v.GetMetricWithLabelValues(labels...)
			if err == nil {
				h.Observe(value)
			}
			return err == nil
		}
	default:
		return nil, fmt.Errorf("metric %s has the type %q: it must be counter, gauge or histogram", d.name, d.kind)
	}
	return f, nil
}

// record stores a measurement. It returns false if the labels or the value do not fit the metric.
func (f *family) record(value float64, labels []fsm.Label) bool {
	if len(labels) != len(f.labels) {
		return false
	}
	values := make([]string, len(labels))
	for i, l := range labels {
		if l.Name != f.labels[i] {
			return false
		}
		values[i] = l.Value
	}
	return f.take(value, values)
}

// usable reports whether Prometheus accepts these labels.
func usable(names []string, kind string) bool {
	for i, name := range names {
		reserved := strings.HasPrefix(name, "__") || kind == "histogram" && name == "le"
		if reserved || !wellFormed(name) || slices.Contains(names[:i], name) {
			return false
		}
	}
	return true
}

// wellFormed reports whether a name is one that every Prometheus takes: letters,
// digits and underscores, no digit first.
func wellFormed(name string) bool {
	for i, c := range name {
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || '9' < c) {
			return false
		}
	}
	return name != ""
}
