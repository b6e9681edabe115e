package registration

import (
	"sync"

	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// What takes the place of a label's value.
const (
	labelUnvalidated = "unvalidated" // the payload that it is from was not accepted
	labelInvalid     = "invalid"     // no payload with this value would be
	labelOther       = "other"       // there are maxLabels others
)

// maxLabels is how many values of callers a label has: each is a time series of its
// own, for as long as the daemon lives.
const maxLabels = 10_000

// labels keeps what callers send from making time series without end. It is safe for
// concurrent use.
type labels struct {
	record func(engine.Metric)

	mu   sync.Mutex
	seen map[fsm.Label]struct{}
	per  map[string]int // values by label
}

func newLabels(record func(engine.Metric)) *labels {
	return &labels{record: record, seen: map[fsm.Label]struct{}{}, per: map[string]int{}}
}

// measure passes a measurement on, with labels that are safe.
func (l *labels) measure(m engine.Metric) {
	before := aboutUnvalidated(m)
	own := m.Labels
	for i, label := range own {
		if value := l.safe(label, before); value != label.Value {
			if &own[0] == &m.Labels[0] {
				m.Labels = append([]fsm.Label(nil), own...) // the caller may keep them
			}
			m.Labels[i].Value = value
		}
	}
	l.record(m)
}

// safe is the value that a label gets.
func (l *labels) safe(label fsm.Label, unvalidated bool) string {
	switch label.Name {
	case "deployment_id", "environment":
		if unvalidated {
			return labelUnvalidated
		}
	case "node_id":
	default:
		return label.Value // a word of the table, or of this package
	}
	if label.Value != "" && !Plain(label.Value) {
		return labelInvalid
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.seen[label]; known {
		return label.Value
	}
	if l.per[label.Name] >= maxLabels {
		return labelOther
	}
	l.per[label.Name]++
	l.seen[label] = struct{}{}
	return label.Value
}

// aboutUnvalidated reports whether a measurement is about a registration whose payload
// was not accepted, or may be: its validation failed, it left validating, or it was
// failed, which is where validation leads when it refuses.
func aboutUnvalidated(m engine.Metric) bool {
	if m.Name == "registration_validation_error_total" || m.Name == "registration_internal_error" {
		return true
	}
	for _, label := range m.Labels {
		switch label.Name {
		case "state", "from_state", "last_state":
			if label.Value == "validating" || label.Value == "failed" {
				return true
			}
		}
	}
	return false
}
