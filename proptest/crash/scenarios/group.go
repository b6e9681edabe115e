package scenarios

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/gen/ddl"
	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/proptest"
)

// Group is the machines of a scenario. The first is the machine under test, whose
// transitions the scenarios must take.
type Group struct {
	machines []*ir.Machine
	calls    []proptest.Calls
	literals map[string]bool // texts that a clause compares with
	searched map[string]bool // fields whose text a clause looks into
	numbers  map[string]bool // numbers that are unique, and that no clause looks at
	rooms    []int64         // the most characters that fields may have
}

// Limits of params: low, so that what counts up to them ends soon; long, so that
// a crash does not let a state run out of time.
const (
	mostOfAParam  = 2
	leastDuration = 3 * time.Hour
)

// Load compiles the specs of a folder and picks the machines named, the one to be
// proven first.
func Load(specs string, names ...string) (*Group, error) {
	all, err := proptest.Machines(specs)
	if err != nil {
		return nil, err
	}
	c := &Group{literals: map[string]bool{}, searched: map[string]bool{}, numbers: map[string]bool{}}
	for _, name := range names {
		i := slices.IndexFunc(all, func(m *ir.Machine) bool { return m.Text == name })
		if i < 0 {
			return nil, fmt.Errorf("no machine %s in %s", name, specs)
		}
		tune(all[i])
		c.machines = append(c.machines, all[i])
		c.calls = append(c.calls, proptest.NewCalls(all[i]))
		c.read(all[i])
	}
	c.spread()
	return c, nil
}

// tune gives the params of a machine values that suit a test.
func tune(m *ir.Machine) {
	limits := proptest.Limits(m)
	for _, p := range m.Params {
		switch v := p.Default.(type) {
		case int64:
			if limits[p] {
				p.Default = min(v, mostOfAParam)
			}
		case time.Duration:
			p.Default = max(v, leastDuration)
		}
	}
}

// Singular lists the active unique constraints that two scenarios can't both satisfy:
// scripts can't make the values of their fields different.
func (c *Group) Singular() []string {
	var out []string
	for _, m := range c.machines {
		for _, u := range m.Uniques {
			if u.WhileActive && !slices.ContainsFunc(u.Fields, c.varies) {
				out = append(out, ddl.IndexOf(m, u))
			}
		}
	}
	return out
}

// varies reports whether scripts make the values of a field different.
func (c *Group) varies(f *ir.Field) bool {
	switch f.Type.Base {
	case ir.String:
		return !c.searched[f.Text]
	case ir.Int:
		return c.numbers[f.Text]
	case ir.UUID, ir.Time:
		return true
	case ir.Bool, ir.Duration, ir.JSON, ir.ListOf, ir.EnumOf:
		return false
	}
	panic(ir.NoForm("scenarios.varies", f.Type.Base))
}

// Proven returns the machine under test.
func (c *Group) Proven() *ir.Machine { return c.machines[0] }

// Params are those of each machine, as its generated Params reads them.
func (c *Group) Params() map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for _, m := range c.machines {
		out[m.Text] = proptest.MarshalParams(m)
	}
	return out
}

// Started reports whether another machine of the group starts m.
func (c *Group) Started(m *ir.Machine) bool {
	return slices.ContainsFunc(c.machines, func(other *ir.Machine) bool {
		return slices.ContainsFunc(other.Effects, func(e *ir.Effect) bool { return e.Machine == m })
	})
}

func (c *Group) index(m *ir.Machine) int { return slices.Index(c.machines, m) }

// own lists the events that the machine itself fires: by a timeout, a raise, or
// in answer to an effect.
func own(m *ir.Machine) map[*ir.Event]bool {
	out := map[*ir.Event]bool{}
	for _, f := range fires(m) {
		out[f.Event] = true
	}
	return out
}

// fires lists what the machine itself fires.
func fires(m *ir.Machine) []*ir.Fire {
	var out []*ir.Fire
	for _, s := range m.States {
		if s.Timeout != nil {
			out = append(out, s.Timeout.Fire)
		}
	}
	for _, r := range m.Rows {
		out = append(out, r.Raise)
	}
	for _, e := range m.Effects {
		out = append(append(out, e.Returns...), e.Fails, e.Lost)
	}
	return slices.DeleteFunc(out, func(f *ir.Fire) bool { return f == nil })
}

// Callable lists the events, other than those of a creation, that callers alone
// fire at records of m.
func Callable(m *ir.Machine) []*ir.Event {
	machines := own(m)
	return slices.DeleteFunc(slices.Clone(m.Events), func(ev *ir.Event) bool {
		return ev.Internal || machines[ev] || !slices.ContainsFunc(m.Rows, func(r *ir.Row) bool {
			return r.Event == ev && r.From != nil && r.Reject == nil
		})
	})
}
