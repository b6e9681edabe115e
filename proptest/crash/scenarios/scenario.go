package scenarios

import (
	"fmt"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/gen/interp"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// Scenario is what callers do and what handlers reply, as the search found it.
type Scenario struct {
	Name    string
	Takes   []*ir.Row // of the machine under test, in this order
	steps   []step
	replies map[Asked]reply // without one a handler succeeds and answers nothing
	asks    []dispatch      // every call of a handler
}

// step is an event of a caller, time that passes, or the repair of what makes handlers
// fail.
type step struct {
	machine int
	create  bool
	in      interp.Input
	wait    time.Duration
	repair  bool
}

// reply is what a handler does with one message.
type reply struct {
	answer    *interp.Input
	fails     int           // so many attempts fail first
	stuck     bool          // every attempt fails until it is repaired
	broken    bool          // every attempt fails, for ever
	meanwhile time.Duration // takes so long
}

// moment is a world with what led there.
type moment struct {
	*world
	before *moment
	step   *step     // what a caller did last
	asked  *Asked    // or what a handler was asked
	reply  *reply    // and replied
	timed  *ir.State // or the state, of the machine under test, whose deadline fired
	steps  int       // of callers, up to here
}

// scenario returns the scenario that leads to m.
func (m *moment) scenario() Scenario {
	s := Scenario{replies: map[Asked]reply{}, asks: m.world.asked}
	for at := m; at != nil; at = at.before {
		for _, r := range slices.Backward(at.took) {
			s.Takes = append(s.Takes, r)
		}
		if at.step != nil {
			s.steps = append(s.steps, *at.step)
		}
		if at.reply != nil {
			s.replies[*at.asked] = *at.reply
		}
	}
	slices.Reverse(s.steps)
	slices.Reverse(s.Takes)
	return s
}

// Events names what callers fire, machine by machine.
func (s Scenario) Events() []string {
	var out []string
	for _, st := range s.steps {
		if st.in.Event != nil {
			out = append(out, fmt.Sprint(st.machine, " ", st.in.Event.Text))
		}
	}
	return out
}
