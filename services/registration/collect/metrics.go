package collect

import (
	"time"

	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/registration/database"
)

// The metrics that the spec leaves to the service (`of: service`).
const (
	metricRuns           = "registration_gc_run_total"
	metricCleaned        = "registration_gc_cleaned_total"
	metricDuration       = "registration_gc_duration_ms"
	metricErrors         = "registration_gc_errors_total"
	metricForced         = "consul_gc_deregistered_total"
	metricDetected       = "orphan_resource_detected_total"
	metricAge            = "orphan_resource_age_seconds"
	metricCleanupSuccess = "orphan_cleanup_success_total"
	metricCleanupFailure = "orphan_cleanup_failure_total"
)

// meter takes the measurements of the collectors.
type meter struct {
	metrics func(engine.Metric)
	clock   engine.Clock
}

// measure takes one measurement of a metric of the spec; the values are those of
// its labels, in their order.
func (m meter) measure(name string, value float64, values ...string) {
	for _, info := range registration.EffectInfos() {
		if info.Name != name || len(info.Labels) != len(values) {
			continue
		}
		labels := make([]fsm.Label, len(values))
		for i, v := range values {
			labels[i] = fsm.Label{Name: info.Labels[i], Value: v}
		}
		m.metrics(engine.Metric{Machine: registration.MachineName, Name: name, Type: info.Metric, Value: value, Labels: labels, Buckets: info.Buckets})
	}
}

// The resources that may be orphaned, and how that is noticed (document 001,
// Metric Details, orphan_resource_detected_total).
const (
	resourceService = "consul_service"
	resourceRow     = "postgres_node_record"
	resourceSession = "consul_session"
	resourceCheck   = "consul_health_check"

	byStaleHeartbeat = "stale_heartbeat"
	byCriticalCheck  = "critical_health_check"
	byOrphanSession  = "orphan_session"
	byMissingNode    = "missing_node"
)

// orphan is a resource that belongs to no registration at work.
type orphan struct {
	resource, method  string
	node, environment string
	since             time.Time
}

// detected tells of an orphan before anything is done about it.
func (m meter) detected(o orphan) {
	m.measure(metricDetected, 1, o.resource, o.method, o.environment)
	m.measure(metricAge, max(0, m.clock.Now().Sub(o.since).Seconds()), o.resource, o.node, o.environment)
}

// cleaned tells what came of it. Its age is 0 from now on, or an alert would
// go on for what is gone.
func (m meter) cleaned(gc string, o orphan, err error) {
	if err != nil {
		m.measure(metricCleanupFailure, 1, o.resource, database.ErrorType(err), o.environment)
		return
	}
	m.measure(metricCleanupSuccess, 1, o.resource, o.environment)
	m.measure(metricCleaned, 1, gc, o.resource)
	m.measure(metricAge, 0, o.resource, o.node, o.environment)
}

// attended tells that the machine has taken an orphan over.
func (m meter) attended(o orphan, err error) {
	if err == nil {
		m.measure(metricAge, 0, o.resource, o.node, o.environment)
	}
}
