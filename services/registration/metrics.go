package registration

import (
	"errors"
	"time"

	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
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

// measure takes one measurement of a metric of the spec; the values are those of
// its labels, in their order.
func (s *Server) measure(name string, value float64, values ...string) {
	for _, info := range registration.EffectInfos() {
		if info.Name != name || len(info.Labels) != len(values) {
			continue
		}
		labels := make([]fsm.Label, len(values))
		for i, v := range values {
			labels[i] = fsm.Label{Name: info.Labels[i], Value: v}
		}
		s.options.Metrics(engine.Metric{Machine: machine, Name: name, Type: info.Metric, Value: value, Labels: labels, Buckets: info.Buckets})
	}
}

// errorType names the kind of a failure, as a label.
func errorType(err error) string {
	for _, k := range []struct {
		err  error
		name string
	}{
		{ErrRefused, "refused"}, {ErrUnreachable, "unreachable"}, {ErrNotPermitted, "not_permitted"}, {ErrInvalid, "invalid"},
		{ErrServer, "server_error"}, {engine.ErrStore, "store"},
	} {
		if errors.Is(err, k.err) {
			return k.name
		}
	}
	return "other"
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

// orphan is something that nobody looks after any more.
type orphan struct {
	resource, method  string
	node, environment string
	since             time.Time
}

// detected tells of an orphan before anything is done about it.
func (s *Server) detected(o orphan) {
	s.measure(metricDetected, 1, o.resource, o.method, o.environment)
	s.measure(metricAge, max(0, s.options.Clock.Now().Sub(o.since).Seconds()), o.resource, o.node, o.environment)
}

// cleaned tells what came of it. Its age is 0 from now on, or an alert would
// go on for what is gone.
func (s *Server) cleaned(gc string, o orphan, err error) {
	if err != nil {
		s.measure(metricCleanupFailure, 1, o.resource, errorType(err), o.environment)
		return
	}
	s.measure(metricCleanupSuccess, 1, o.resource, o.environment)
	s.measure(metricCleaned, 1, gc, o.resource)
	s.measure(metricAge, 0, o.resource, o.node, o.environment)
}

// attended tells that the machine has taken an orphan over.
func (s *Server) attended(o orphan, err error) {
	if err == nil {
		s.measure(metricAge, 0, o.resource, o.node, o.environment)
	}
}
