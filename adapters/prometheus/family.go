package prometheus

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// definition is a metric without its labels.
type definition struct {
	name, help, kind string
	buckets          []float64 // of a histogram; none: those of the client library
}

// spelled is the name that Prometheus gets for one of a spec.
func spelled(name string) string { return strings.ReplaceAll(name, ".", "_") }

// family is a metric with all its label values. The labels of a spec's metric
// are those of its first measurement: until then it shows nothing, and what it
// will show can't be described.
type family struct {
	definition
	mu     sync.RWMutex
	labels []string // as in spelling of the measurements; nil: not known yet
	take   func(value float64, labels []string) bool
	vector prometheus.Collector
}

// newFamily makes a family; labels nil means that they are not known yet.
func newFamily(d definition, labels []string) (*family, error) {
	f := &family{definition: d}
	if !wellFormed(d.name) {
		return nil, fmt.Errorf("%q is no name of a metric", d.name)
	}
	if !slices.Contains([]string{"counter", "gauge", "histogram"}, d.kind) {
		return nil, fmt.Errorf("metric %s is a %q, which is no type of a metric", d.name, d.kind)
	}
	if !slices.IsSorted(d.buckets) {
		return nil, fmt.Errorf("the buckets of metric %s do not ascend", d.name)
	}
	if labels != nil {
		f.settle(labels)
	}
	return f, nil
}

// settle fixes the labels. The caller holds the lock, or nobody else has f.
func (f *family) settle(labels []string) {
	f.labels = labels
	switch f.kind {
	case "counter":
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: f.name, Help: f.help}, labels)
		f.vector, f.take = v, func(value float64, labels []string) bool {
			c, err := v.GetMetricWithLabelValues(labels...)
			if err != nil || value < 0 || math.IsNaN(value) {
				return false
			}
			c.Add(value)
			return true
		}
	case "gauge":
		v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: f.name, Help: f.help}, labels)
		f.vector, f.take = v, func(value float64, labels []string) bool {
			g, err := v.GetMetricWithLabelValues(labels...)
			if err == nil {
				g.Set(value)
			}
			return err == nil
		}
	case "histogram":
		v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: f.name, Help: f.help, Buckets: f.buckets}, labels)
		f.vector, f.take = v, func(value float64, labels []string) bool {
			h, err := v.GetMetricWithLabelValues(labels...)
			if err == nil {
				h.Observe(value)
			}
			return err == nil
		}
	}
}

// record takes a measurement; false if it does not fit.
func (f *family) record(value float64, labels []fsm.Label) bool {
	names, values := make([]string, len(labels)), make([]string, len(labels))
	for i, l := range labels {
		names[i], values[i] = l.Name, l.Value
	}
	take := f.taker(names)
	return take != nil && take(value, values)
}

// taker returns what takes measurements with these labels; nil if there are
// other ones already, or if Prometheus does not take them.
func (f *family) taker(names []string) func(float64, []string) bool {
	f.mu.RLock()
	known, take := f.labels, f.take
	f.mu.RUnlock()
	if take == nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.take == nil && usable(names, f.kind) {
			f.settle(names)
		}
		known, take = f.labels, f.take
	}
	if !slices.Equal(known, names) {
		return nil
	}
	return take
}

// usable reports whether Prometheus takes these labels.
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

// Describe implements prometheus.Collector. A family whose labels are not known
// describes nothing: the registry checks it when it collects.
func (f *family) Describe(out chan<- *prometheus.Desc) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.vector != nil {
		f.vector.Describe(out)
	}
}

// Collect implements prometheus.Collector.
func (f *family) Collect(out chan<- prometheus.Metric) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.vector != nil {
		f.vector.Collect(out)
	}
}
