package prometheus

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Dropped is the name of the counter of dropped measurements. Its labels are machine and metric.
const Dropped = "fsm_measurements_dropped_total"

// Machine is the part of an engine.Machine that New needs.
type Machine interface {
	Name() string
	Effects() []fsm.EffectInfo
}

// Metrics exports the measurements of an engine. It is safe for concurrent use.
type Metrics struct {
	engine  map[string]*family // never written after New
	specs   map[specKey]*family
	dropped *prometheus.CounterVec
}

// specKey names a metric that a spec declares, as the spec spells it.
type specKey struct{ machine, name string }

// New registers the metrics of the engine and those that the machines declare.
// After an error nothing is registered.
func New(registry prometheus.Registerer, machines ...Machine) (*Metrics, error) {
	m := &Metrics{engine: map[string]*family{}, specs: map[specKey]*family{}}
	m.dropped = prometheus.NewCounterVec(prometheus.CounterOpts{Name: Dropped, Help: "Measurements that could not be taken."}, []string{"machine", "metric"})
	collectors := []prometheus.Collector{m.dropped}
	owners := map[string]string{Dropped: "the engine"}
	for _, own := range engineMetrics() {
		f, err := newFamily(own.definition, own.labels)
		if err != nil {
			return nil, err
		}
		m.engine[own.name] = f
		owners[own.name] = "the engine"
		collectors = append(collectors, f.collector)
	}
	for _, machine := range machines {
		for _, info := range machine.Effects() {
			if info.Kind != fsm.EffectMetric {
				continue
			}
			d := definition{name: spelled(info.Name), help: "Declared by machine " + machine.Name() + ".", kind: info.Metric, buckets: info.Buckets}
			if other, taken := owners[d.name]; taken {
				return nil, fmt.Errorf("prometheus: metric %s of machine %s is called %s, and so is one of %s: rename one", info.Name, machine.Name(), d.name, other)
			}
			owners[d.name] = "machine " + machine.Name()
			f, err := newFamily(d, info.Labels)
			if err != nil {
				return nil, fmt.Errorf("prometheus: machine %s: %w", machine.Name(), err)
			}
			m.specs[specKey{machine.Name(), info.Name}] = f
			collectors = append(collectors, f.collector)
		}
	}
	return m, register(registry, collectors)
}

// register registers all or none.
func register(registry prometheus.Registerer, collectors []prometheus.Collector) error {
	for i, c := range collectors {
		if err := registry.Register(c); err != nil {
			for _, done := range collectors[:i] {
				registry.Unregister(done)
			}
			return fmt.Errorf("prometheus: %w", err)
		}
	}
	return nil
}

// Record stores one measurement: pass it as engine.Config.Metrics. A service also calls it for the
// metrics that its spec leaves to the service.
func (m *Metrics) Record(x engine.Metric) {
	f, labels := m.specs[specKey{x.Machine, x.Name}], x.Labels
	if own := m.engine[x.Name]; f == nil && own != nil {
		f, labels = own, append([]fsm.Label{{Name: "machine", Value: x.Machine}}, labels...)
	}
	if f == nil || !f.record(x.Value, labels) {
		m.dropped.WithLabelValues(x.Machine, x.Name).Inc()
	}
}
