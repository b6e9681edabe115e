package proptest

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// state is a state of a generated package.
type state[E any] interface {
	comparable
	fmt.Stringer
	Kind() string
	Terminal() bool
	Recoverable() bool
	Legal() []E
}

// event is the kind of an event of a generated package.
type event interface {
	comparable
	fmt.Stringer
}

// transition is a transition of a generated package.
type transition[S, E any] interface {
	fmt.Stringer
	From() S
	Event() E
	To() S
	Internal() bool
	Raises() E
	Effects() []string
}

// Table compares what a generated package says of itself with the spec: its
// states, its static table of transitions, its effects.
func Table[S state[E], E event, T transition[S, E]](t testing.TB, spec *Spec, states []S, transitions []T, effects []fsm.EffectInfo) {
	t.Helper()
	m := spec.Machine
	compareLists(t, "state", describeStates(m), describeAll(states, func(s S) string {
		return fmt.Sprintf("%s: %s, terminal %v, recoverable %v, legal %v", s, s.Kind(), s.Terminal(), s.Recoverable(), s.Legal())
	}))
	compareLists(t, "transition", describeRows(m), describeAll(transitions, func(x T) string {
		return fmt.Sprintf("%s: from %q on %s to %s, internal %v, raises %q, effects %v",
			x, named(x.From()), x.Event(), x.To(), x.Internal(), named(x.Raises()), x.Effects())
	}))
	compareLists(t, "effect", describeAll(effectInfos(m), describeEffect), describeAll(effects, describeEffect))
	Count(t, "%s: %d states, %d transitions and %d effects and metrics are as the table says", m, len(states), len(transitions), len(effects))
}

// named is the name of a state or an event, "" for the zero value.
func named[X event](x X) string {
	if x == *new(X) {
		return ""
	}
	return x.String()
}

func describeAll[X any](list []X, describe func(X) string) []string {
	var out []string
	for _, x := range list {
		out = append(out, describe(x))
	}
	return out
}

func compareLists(t testing.TB, kind string, want, got []string) {
	t.Helper()
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(got):
			t.Errorf("the package lacks %s %s", kind, want[i])
		case i >= len(want):
			t.Errorf("the spec has no %s %s", kind, got[i])
		case want[i] != got[i]:
			t.Errorf("%s differs:\nspec    %s\npackage %s", kind, want[i], got[i])
		}
	}
}

func describeStates(m *ir.Machine) []string {
	return describeAll(m.States, func(s *ir.State) string {
		var legal []string
		for _, ev := range m.Events {
			if slices.ContainsFunc(m.Rows, func(r *ir.Row) bool { return r.From == s && r.Event == ev && r.Reject == nil }) {
				legal = append(legal, ev.Text)
			}
		}
		return fmt.Sprintf("%s: %s, terminal %v, recoverable %v, legal %v", s, s.Kind, s.Terminal, s.Recoverable, legal)
	})
}

func describeRows(m *ir.Machine) []string {
	var out []string
	for _, r := range m.Rows {
		if r.Reject != nil {
			continue
		}
		from, raises := "", ""
		if r.From != nil {
			from = r.From.Text
		}
		if r.Raise != nil {
			raises = r.Raise.Event.Text
		}
		effects := describeAll(r.Actions, actionName)
		out = append(out, fmt.Sprintf("%s: from %q on %s to %s, internal %v, raises %q, effects %v",
			r, from, r.Event, r.Target(), r.To == nil, raises, effects))
	}
	return out
}

func actionName(a ir.Action) string {
	if a.Metric != nil {
		return a.Metric.Text
	}
	return a.Effect.Text
}

// kinds are the words of package fsm for what an effect is made of.
var kinds = map[ir.EffectKind]fsm.EffectKind{
	ir.Call: fsm.EffectCall, ir.Log: fsm.EffectLog, ir.Upsert: fsm.EffectUpsert,
	ir.Update: fsm.EffectUpdate, ir.Delete: fsm.EffectDelete, ir.Start: fsm.EffectStart,
}

func describeEffect(e fsm.EffectInfo) string { return fmt.Sprintf("%+v", e) }

// effectInfos is what the spec says of effects and metrics.
func effectInfos(m *ir.Machine) []fsm.EffectInfo {
	var out []fsm.EffectInfo
	for _, e := range m.Effects {
		out = append(out, effectInfo(m, e))
	}
	for _, x := range m.Metrics {
		info := fsm.EffectInfo{Name: x.Text, Kind: fsm.EffectMetric, Metric: string(x.Type), Of: fsm.Observed(x.Of), Buckets: x.Buckets}
		for _, l := range x.Labels {
			info.Labels = append(info.Labels, l.Name)
		}
		out = append(out, info)
	}
	return out
}

func effectInfo(m *ir.Machine, e *ir.Effect) fsm.EffectInfo {
	info := fsm.EffectInfo{
		Name: e.Text, Kind: kinds[e.Kind], Delivery: fsm.Delivery(e.Delivery), Work: e.IsWork(),
		HasFails: e.Fails != nil, HasLost: e.Lost != nil, HasRetry: e.Retry != nil,
	}
	switch e.Kind {
	case ir.Call:
		info.Destination = cmp.Or(e.To, e.Text)
		for _, w := range e.With {
			if w.Value.Kind == ir.Read && w.Value.A.Field == m.ID {
				info.RecordIDs = append(info.RecordIDs, w.Name)
			}
		}
	case ir.Log:
		info.Level, info.Message = string(e.Level), e.Doc
	case ir.Upsert, ir.Update, ir.Delete:
		info.Table, info.Machine = e.Table.Text, e.Table.Machine.Text
	case ir.Start:
		info.Machine = e.Machine.Text
	default:
		panic(ir.NoForm("proptest.effectInfo", e.Kind))
	}
	if e.Retry != nil && e.Retry.Retry != nil {
		r := e.Retry.Retry
		info.Retry = fsm.RetryPolicy{First: written(r.First), Max: written(r.Max), Factor: r.Factor, Jitter: r.Jitter, Attempts: r.Attempts}
	}
	if e.Cleanup != nil {
		info.Cleanup = e.Cleanup.Text
	}
	if e.Lock != nil {
		info.Lock = fsm.Lock{Key: e.Lock.Key.String(), TTL: written(e.Lock.TTL)}
	}
	return info
}

// written is a duration of a spec. The lowering has refused one that is none.
func written(text string) time.Duration {
	d, _ := time.ParseDuration(text)
	return d
}
