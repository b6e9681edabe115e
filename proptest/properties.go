package proptest

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/interp"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// Properties runs random command sequences against the interpreter as the
// model: after every call both agree, and every holds and invariant is true.
func Properties(t *testing.T, spec *Spec, subject Subject) {
	t.Helper()
	var steps atomic.Int64
	rapid.Check(t, property(spec, subject, &steps))
	Count(t, "%s: %s random steps kept every holds and invariant", spec.Machine, thousands(int(steps.Load())))
}

// Fuzz lets go test -fuzz drive the same command sequences. It starts from four fixed
// inputs, the same for every machine, and runs them without -fuzz too.
func Fuzz(f *testing.F, spec *Spec, subject Subject) {
	f.Helper()
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 1))
		bytes := make([]byte, 1<<15)
		for i := range bytes {
			bytes[i] = byte(rng.Uint32())
		}
		f.Add(bytes)
	}
	f.Fuzz(rapid.MakeFuzz(property(spec, subject, new(atomic.Int64))))
}

func property(spec *Spec, subject Subject, steps *atomic.Int64) func(*rapid.T) {
	fill := machineClasses(spec.Machine)
	return func(t *rapid.T) {
		r := &run{machine: spec.Machine, subject: subject, fill: fill, now: now}
		t.Repeat(map[string]func(*rapid.T){
			"fire": func(t *rapid.T) {
				r.fire(t)
				steps.Add(1)
			},
			"wait": r.wait,
		})
	}
}

// run is one random life of a record.
type run struct {
	machine *ir.Machine
	subject Subject
	fill    map[domain.Var][]ir.Value
	record  *interp.Record // nil: not created yet
	now     time.Time
}

// wait lets time pass: a little, or until a time of the record.
func (r *run) wait(t *rapid.T) {
	moments := []time.Time{r.now.Add(time.Microsecond), r.now.Add(time.Hour), r.now.Add(1000 * time.Hour)}
	if r.record != nil {
		for _, v := range r.record.Values {
			if at, ok := v.(time.Time); ok && at.After(r.now) && at.Year() < 9000 {
				moments = append(moments, at, at.Add(time.Microsecond))
			}
		}
	}
	r.now = rapid.SampledFrom(moments).Draw(t, "until")
}

func (r *run) fire(t *rapid.T) {
	all := callers(r.machine)
	who := all[rapid.IntRange(0, len(all)-1).Draw(t, "caller")]
	ev := r.event(t, who)
	in := interp.Input{Event: ev, Actor: who.actor(r.machine, r.record), Now: r.now}
	for _, f := range payloadFields(ev) {
		in.Args = append(in.Args, r.value(t, f, ev))
	}
	tc := testCase{r.record, in}
	result, rej := tc.decide(r.machine)
	if err := agrees(r.machine, result, rej, r.subject(tc.call(r.machine))); err != nil {
		t.Fatalf("%s: %v", tc.describe(r.machine), err)
	}
	if rej != nil {
		return
	}
	for _, s := range result.Steps {
		check(t, r.machine, s)
	}
	r.record = result.Record
}

// event draws any event, most often one that has a row here.
func (r *run) event(t *rapid.T, who caller) *ir.Event {
	var state *ir.State
	if r.record != nil {
		state = r.record.State
	}
	open := slices.DeleteFunc(slices.Clone(r.machine.Events), func(ev *ir.Event) bool { return !who.mayFire(rowsOf(r.machine, state, ev)) })
	if len(open) == 0 || rapid.IntRange(0, 9).Draw(t, "legal") == 0 {
		open = r.machine.Events
	}
	return open[rapid.IntRange(0, len(open)-1).Draw(t, "event")]
}

// value draws what decides something, what is stored already, or anything.
func (r *run) value(t *rapid.T, f *ir.Field, ev *ir.Event) ir.Value {
	class := r.fill[domain.Var{Field: f, Event: ev}]
	if r.record != nil {
		class = append(slices.Clone(class), storedLike(r.machine, r.record, f)...)
	}
	if len(class) > 0 && rapid.IntRange(0, 9).Draw(t, "known") > 0 {
		return class[rapid.IntRange(0, len(class)-1).Draw(t, f.Text)]
	}
	return anything(t, f)
}

func anything(t *rapid.T, f *ir.Field) ir.Value {
	switch f.Type.Base {
	case ir.Int:
		return rapid.Int64().Draw(t, f.Text)
	case ir.Bool:
		return rapid.Bool().Draw(t, f.Text)
	case ir.Duration:
		return time.Duration(rapid.Int64().Draw(t, f.Text))
	case ir.Time:
		// All of the years 1 to 9999, to the nanosecond.
		seconds := rapid.Int64Range(-62135596800, 253402300799).Draw(t, f.Text)
		return time.Unix(seconds, rapid.Int64Range(0, 999_999_999).Draw(t, f.Text+" ns")).UTC()
	case ir.UUID:
		return domain.UUID(rapid.IntRange(0, 1<<20).Draw(t, f.Text))
	case ir.EnumOf:
		return f.Type.Enum.Values[rapid.IntRange(0, len(f.Type.Enum.Values)-1).Draw(t, f.Text)].Text
	case ir.JSON:
		return rapid.SampledFrom([]string{`[]`, `{"a":{"b":[1,2.5,"x"]}}`, `"text"`}).Draw(t, f.Text)
	case ir.ListOf:
		return awkwardList(t, f)
	case ir.String:
		return strings.ReplaceAll(rapid.String().Draw(t, f.Text), "\x00", "0")
	}
	panic(ir.NoForm("proptest.anything", f.Type.Base))
}

func awkwardList(t *rapid.T, f *ir.Field) ir.Value {
	list := []any{}
	for range rapid.IntRange(0, 3).Draw(t, f.Text+" length") {
		list = append(list, anything(t, &ir.Field{Name: f.Name, Type: *f.Type.Elem}))
	}
	return list
}

// check demands of one step what the machine promises of all of them.
func check(t *rapid.T, m *ir.Machine, s interp.Step) {
	before, after := s.Before, s.After
	if c := interp.Broken(after, before.State); c != nil {
		t.Fatalf("%s holds is broken: %s on %s", after.State, c.Text, interp.MarshalRecord(m, after))
	}
	if after.Version != before.Version+1 {
		t.Fatalf("version %d after %d", after.Version, before.Version)
	}
	if before.State != nil && before.State.Terminal && after.State != before.State {
		t.Fatalf("%s leaves the terminal state %s", s.Row, before.State)
	}
	for _, f := range m.Fields {
		old, value := before.Get(f), after.Get(f)
		if f.Immutable && old != nil && !domain.Equal(old, value) {
			t.Fatalf("%s changes the immutable %s from %v to %v", s.Row, f, old, value)
		}
		if f.Derive == nil && !isLegal(f, value) {
			t.Fatalf("%s stores %v in %s", s.Row, value, f)
		}
	}
	for _, inv := range m.Invariants {
		if n := inv.Never; n != nil && before.State == n.From && slices.Contains(n.To, after.State) && !unless(s, n) {
			t.Fatalf("%s takes the forbidden edge from %s to %s: %s", s.Row, before.State, after.State, inv)
		}
	}
}

// unless reports whether the exception of a forbidden edge holds.
func unless(s interp.Step, n *ir.Never) bool {
	return len(n.Unless) > 0 && !slices.ContainsFunc(n.Unless, func(c *ir.Clause) bool {
		return !domain.Eval(c, reader(s.After, s.Before.State))
	})
}
