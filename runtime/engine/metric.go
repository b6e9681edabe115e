package engine

import "github.com/fsmgen/fsmgen/runtime/fsm"

// Metric is one measurement.
type Metric struct {
	Machine string
	Name    string
	Type    string // counter, gauge or histogram
	Value   float64
	Labels  []fsm.Label
	Buckets []float64 // of a histogram; none: the collector's own
}

// The engine's own metrics; durations are in seconds. Each has the machine
// besides the labels named here.
const (
	MetricTransitions      = "fsm_transitions_total"         // from, event, to
	MetricRejections       = "fsm_rejections_total"          // event, reason
	MetricConflicts        = "fsm_conflicts_total"           // event
	MetricAttempts         = "fsm_effect_attempts_total"     // effect, outcome: delivered, late, refused, retry_later, dead_letter, released
	MetricLateDeadlines    = "fsm_late_deadlines_total"      // event
	MetricRefusedDeadlines = "fsm_refused_deadlines_total"   // event
	MetricRefused          = "fsm_refused_answers_total"     // event
	MetricLocks            = "fsm_locks_total"               // effect, outcome: taken, lost, unreachable, waited, no_key
	MetricOutboxLag        = "fsm_outbox_lag_seconds"        // effect
	MetricDeadlineLag      = "fsm_deadline_lag_seconds"      // event
	MetricStateDuration    = "fsm_state_duration_seconds"    // state
	MetricFatal            = "fsm_unrecordable_events_total" // event
	MetricUnknown          = "fsm_unknown_work"              // a gauge: kind, name, state (of the record, if it is not known either)
	MetricBreaker          = "fsm_breaker_open"              // a gauge: destination
	MetricOpen             = "fsm_open_messages"             // a gauge: effect, state (not dead_letter)
	MetricDeadLetters      = "fsm_dead_letters"              // a gauge: effect
	MetricOldestDue        = "fsm_oldest_due_seconds"        // a gauge: effect
	MetricBlocked          = "fsm_blocked_orders"            // a gauge: destination
	MetricOverdue          = "fsm_overdue_deadlines"         // a gauge: event
	MetricPaused           = "fsm_paused"                    // a gauge: effect, destination; "" each where the scope has none
	MetricClockOffset      = "fsm_clock_offset_seconds"      // a gauge of the process, of no machine
)

// count adds one to a counter. pairs are label names and values in turn.
func (e *Engine[T]) count(machine, name string, pairs ...string) {
	e.config.Metrics(Metric{Machine: machine, Name: name, Type: "counter", Value: 1, Labels: labels(pairs)})
}

// observe adds a value to a histogram.
func (e *Engine[T]) observe(machine, name string, value float64, pairs ...string) {
	e.config.Metrics(Metric{Machine: machine, Name: name, Type: "histogram", Value: value, Labels: labels(pairs)})
}

func labels(pairs []string) []fsm.Label {
	out := make([]fsm.Label, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		out = append(out, fsm.Label{Name: pairs[i], Value: pairs[i+1]})
	}
	return out
}
