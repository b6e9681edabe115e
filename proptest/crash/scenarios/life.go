package scenarios

import (
	"fmt"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/gen/interp"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// Life is what callers do and what handlers reply, as the search found it.
type Life struct {
	Name    string
	Takes   []*ir.Row // of the machine to be proven, in this order
	steps   []step
	replies map[Asked]reply // without one a handler succeeds and answers nothing
	asks    []dispatch      // every call of a handler
}

// step is an event of a caller, or time that passes, or somebody who mends what
// is broken.
type step struct {
	machine int
	create  bool
	in      interp.Input
	wait    time.Duration
	mend    bool
}

// reply is what a handler does with one message.
type reply struct {
	answer    *interp.Input
	fails     int           // so many attempts fail first
	stuck     bool          // every attempt fails until somebody mends it
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
	timed  *ir.State // or the state, of the machine to be proven, whose timer fired
	steps  int       // of callers, up to here
}

// life is the way to m.
func (m *moment) life() Life {
	l := Life{replies: map[Asked]reply{}, asks: m.world.asked}
	for at := m; at != nil; at = at.before {
		for _, r := range slices.Backward(at.took) {
			l.Takes = append(l.Takes, r)
		}
		if at.step != nil {
			l.steps = append(l.steps, *at.step)
		}
		if at.reply != nil {
			l.replies[*at.asked] = *at.reply
		}
	}
	slices.Reverse(l.steps)
	slices.Reverse(l.Takes)
	return l
}

// Events names what callers fire, machine by machine.
func (l Life) Events() []string {
	var out []string
	for _, st := range l.steps {
		if st.in.Event != nil {
			out = append(out, fmt.Sprint(st.machine, " ", st.in.Event.Text))
		}
	}
	return out
}
