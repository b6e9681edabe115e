package engine

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// observed measures the metrics that the spec of m has the engine observe. A
// label is one of the engine's own, which pairs name in turn with their values,
// or a column of the record, which may be nil; any other is empty.
func (e *Engine[T]) observed(m *definition[T], of fsm.Observed, seconds float64, record fsm.Record, pairs ...string) {
	known := source{own: labels(pairs), columns: m.tables.Columns, record: record}
	for _, info := range m.observed[of] {
		value := 1.0
		if of == fsm.OfStateDuration {
			value = inUnitOf(info.Name, seconds)
		}
		found := make([]fsm.Label, len(info.Labels))
		for i, name := range info.Labels {
			found[i] = fsm.Label{Name: name, Value: known.label(name)}
		}
		e.config.Metrics(Metric{
			Machine: m.Name(), Name: info.Name, Type: info.Metric, Value: value, Labels: found, Buckets: info.Buckets,
		})
	}
}

// inUnitOf is a duration as a metric of this name counts it: in milliseconds if
// the name ends so, else in seconds.
func inUnitOf(name string, seconds float64) float64 {
	if strings.HasSuffix(name, "_ms") {
		return seconds * 1000
	}
	return seconds
}

// source is where the labels of a metric come from.
type source struct {
	own     []fsm.Label
	columns []string
	record  fsm.Record
	values  []any // of the columns, once one was asked for
}

func (s *source) label(name string) string {
	for _, l := range s.own {
		if l.Name == name {
			return l.Value
		}
	}
	at := slices.Index(s.columns, name)
	if at < 0 || s.record == nil {
		return ""
	}
	if s.values == nil {
		s.values = s.record.Values()
	}
	return fsm.Text(s.values[at])
}

// left measures that a step left a state.
func (e *Engine[T]) left(r request[T], s fsm.Step, entered time.Time) {
	stayed := r.now.Sub(entered)
	e.observe(r.machine.Name(), MetricStateDuration, stayed.Seconds(), "state", s.From)
	outcome := "success"
	switch {
	case r.timedOut():
		outcome = "timeout"
	case s.Kind == "error":
		outcome = "failure"
	}
	e.observed(r.machine, fsm.OfStateDuration, stayed.Seconds(), s.Record,
		"state", s.From, "outcome", outcome, "event", s.Event, "to", s.To)
}

// timeout measures that the timeout of a state fired.
func (e *Engine[T]) timeout(r request[T], s fsm.Step, entered time.Time) {
	after := r.notBefore.Sub(entered).Milliseconds()
	e.observed(r.machine, fsm.OfTimeout, 0, s.Record,
		"state", s.From, "event", s.Event, "trigger_emitted", s.Event, "to", s.To, "timeout_ms", strconv.FormatInt(after, 10))
}
