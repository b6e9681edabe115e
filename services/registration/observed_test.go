package registration_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/progress"
	"github.com/fsmgen/fsmgen/runtime/engine"
)

// observation is the clock that the test owns, and what the daemon measured and logged.
type observation struct {
	t       *testing.T
	clock   *clock
	metrics *metrics
	logs    *logs
}

// clock is a clock that the test owns.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Now().UTC().Truncate(time.Microsecond)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// metrics remembers what was measured.
type metrics struct {
	mu   sync.Mutex
	seen []engine.Metric
}

func (m *metrics) record(x engine.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen = append(m.seen, x)
}

// count sums the measurements of a metric with these label values among its own.
func (m *metrics) count(name string, labels ...string) (sum float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
next:
	for _, x := range m.seen {
		if x.Name != name {
			continue
		}
		for i := 0; i < len(labels); i += 2 {
			found := false
			for _, l := range x.Labels {
				found = found || l.Name == labels[i] && l.Value == labels[i+1]
			}
			if !found {
				continue next
			}
		}
		sum += x.Value
	}
	return sum
}

// counted waits until a metric sums up to what is wanted: measurements follow the
// commit. It returns the sum when that has stayed the same for a long time.
func (s *observation) counted(want float64, name string, labels ...string) (sum float64, ok bool) {
	for w := (progress.Watch{}); ; {
		if sum = s.metrics.count(name, labels...); sum == want {
			return sum, true
		}
		if w.Pause(s.t.Context(), sum) != nil {
			return sum, false
		}
	}
}

func (s *observation) counts(want float64, name string, labels ...string) bool {
	_, ok := s.counted(want, name, labels...)
	return ok
}

// logs keeps the log lines, as JSON.
type logs struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
