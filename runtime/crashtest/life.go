package crashtest

import (
	"crypto/sha256"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// epoch is when every life begins.
var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// life takes records through a table. Its script is the same for every tag but
// for the values that have to be unique in a database.
type life struct {
	name   string
	script func(tag string) script
}

// script is what callers do, and what handlers answer.
type script struct {
	steps []step
	// replies are those of the effect machine.effect to its first message, its
	// second one, and so on; the last reply is given from then on. Without one
	// the effect succeeds and answers nothing.
	replies map[string][]reply
}

// movesClock reports whether time passes while a handler is at work.
func (s script) movesClock() bool {
	for _, replies := range s.replies {
		if slices.ContainsFunc(replies, func(r reply) bool { return r.meanwhile > 0 }) {
			return true
		}
	}
	return false
}

// step is one thing that somebody does. After it, everything that is due is
// done, and what failed is repeated.
type step struct {
	machine string
	create  bool
	event   fsm.Payload
	by      fsm.Caller
	wait    time.Duration // let time pass
	mend    bool          // mend what makes stuck replies fail, and requeue the dead letters
}

// reply is what a handler does with a message.
type reply struct {
	answer    fsm.Payload
	fails     int           // so many attempts fail first
	stuck     bool          // every attempt fails until somebody mends it
	broken    bool          // every attempt fails, for ever
	meanwhile time.Duration // takes so long, and a worker with nothing else to do goes on
}

func create(machine string, event fsm.Payload, by fsm.Caller) step {
	return step{machine: machine, create: true, event: event, by: by}
}

func fire(machine string, event fsm.Payload, by fsm.Caller) step {
	return step{machine: machine, event: event, by: by}
}

func wait(d time.Duration) step { return step{wait: d} }

func mend() step { return step{mend: true} }

func answers(events ...fsm.Payload) []reply {
	var out []reply
	for _, e := range events {
		out = append(out, reply{answer: e})
	}
	return out
}

// failsOnce answers after a first attempt that fails.
func failsOnce(answer fsm.Payload) []reply { return []reply{{answer: answer, fails: 1}} }

var stuck = []reply{{stuck: true}}

var broken = []reply{{broken: true}}

// idOf is the id of the record that a scenario has of a machine.
func idOf(tag, machine string) fsm.UUID {
	sum := sha256.Sum256([]byte(tag + "/" + machine))
	id := fsm.UUID(sum[:16])
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80
	return id
}
