package engine_test

import (
	"database/sql"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/internal/progress"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// earlier is a deal of an earlier version: it has no notify_owner.
type earlier struct{ engine.Machine[*sql.Tx] }

func (m earlier) Effects() []fsm.EffectInfo {
	return slices.DeleteFunc(slices.Clone(m.Machine.Effects()), func(i fsm.EffectInfo) bool { return i.Name == "notify_owner" })
}

// TestUnknownWorkIsTold: a worker leaves what it does not know alone, and says so.
func TestUnknownWorkIsTold(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.offered("1")
	s.offered("2")
	told := make(chan engine.Metric, 1)
	s.config.Metrics = func(m engine.Metric) {
		if m.Name == engine.MetricUnknown {
			told <- m
		}
	}
	var err error
	s.engine, err = engine.New[*sql.Tx](s.store, s.config, scripted{earlier{deal.Define[*sql.Tx](nil, deal.DefaultParams())}, s})
	if err != nil {
		t.Fatal(err)
	}
	measured, seen := make(chan struct{}), engine.Metric{}
	go func() {
		defer close(measured)
		seen = <-told
	}()
	stop := s.running()
	progress.Receive(t, "the measurement", measured)
	stop()
	if seen.Value != 2 || seen.Labels[1].Value != "notify_owner" {
		t.Errorf("measured %+v", seen)
	}
	if l := s.flush(); !strings.Contains(l, "work is due that this program does not know") {
		t.Errorf("seen:\n%s", l)
	}
}
