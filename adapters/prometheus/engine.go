package prometheus

import "github.com/fsmgen/fsmgen/runtime/engine"

// ownMetric is a metric of the engine, with its labels in the order in which
// they are measured.
type ownMetric struct {
	definition
	labels []string
}

// engineMetrics lists what the engine measures by itself.
func engineMetrics() []ownMetric {
	const minute, hour, day = 60, 3600, 24 * 3600
	lag := []float64{.001, .005, .025, .1, .25, 1, 2.5, 10, minute, 10 * minute, hour, day}
	stay := []float64{.1, 1, 10, minute, 10 * minute, hour, 6 * hour, day, 7 * day, 30 * day}
	counter := func(name, help string, labels ...string) ownMetric {
		return ownMetric{definition{name: name, help: help, kind: "counter"}, append([]string{"machine"}, labels...)}
	}
	histogram := func(name, help string, buckets []float64, label string) ownMetric {
		return ownMetric{definition{name: name, help: help, kind: "histogram", buckets: buckets}, []string{"machine", label}}
	}
	gauge := func(name, help string, labels ...string) ownMetric {
		return ownMetric{definition{name: name, help: help, kind: "gauge"}, append([]string{"machine"}, labels...)}
	}
	return []ownMetric{
		counter(engine.MetricTransitions, "Transitions taken.", "from", "event", "to"),
		counter(engine.MetricRejections, "Events that the machine refused.", "event", "reason"),
		counter(engine.MetricConflicts, "Events that another writer came before.", "event"),
		counter(engine.MetricAttempts, "Attempts to deliver an effect, by what came of them.", "effect", "outcome"),
		counter(engine.MetricLateDeadlines, "Deadlines that were cleared while they fired.", "event"),
		counter(engine.MetricRefusedDeadlines, "Deadlines whose event the record refused.", "event"),
		counter(engine.MetricRefused, "Answers of effects that the record refused.", "event"),
		counter(engine.MetricFatal, "Accepted events that could not be recorded.", "event"),
		gauge(engine.MetricUnknown, "Work that is due and that this program does not know.", "kind", "name", "state"),
		gauge(engine.MetricOpen, "Messages that are on their way, by their state.", "effect", "state"),
		gauge(engine.MetricDeadLetters, "Messages that were given up and wait for an operator.", "effect"),
		gauge(engine.MetricOldestDue, "For how long the oldest message that a worker could claim has been due.", "effect"),
		gauge(engine.MetricBlocked, "Records whose messages to a destination wait behind a dead letter.", "destination"),
		gauge(engine.MetricOverdue, "Deadlines that are due and that no worker has claimed.", "event"),
		gauge(engine.MetricPaused, "Whether an operator has paused a machine, an effect of it, or a destination.", "effect", "destination"),
		gauge(engine.MetricBreaker, "Whether attempts at a destination run one at a time, since they fail.", "destination"),
		gauge(engine.MetricClockOffset, "By how much the clock of the database is ahead of that of this machine."),
		histogram(engine.MetricOutboxLag, "How long after an effect was due a worker began it.", lag, "effect"),
		histogram(engine.MetricDeadlineLag, "How long after a deadline was due it fired.", lag, "event"),
		histogram(engine.MetricStateDuration, "How long a record was in a state that it left.", stay, "state"),
	}
}
