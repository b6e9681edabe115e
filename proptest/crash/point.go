package crash

import (
	"fmt"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// Point is a named failpoint: a moment right before or after something becomes
// durable.
type Point string

// The points, in the order in which one transition passes them.
const (
	ClaimBefore   Point = "claim.before"   // work is due and not leased
	ClaimAfter    Point = "claim.after"    // it is leased and not begun
	QueryBefore   Point = "query.before"   // about to ask whether an effect has happened
	QueryAfter    Point = "query.after"    // the answer is known here only
	HandlerBefore Point = "handler.before" // about to touch the world
	HandlerAfter  Point = "handler.after"  // the effect has happened, and nothing is stored
	TxBefore      Point = "tx.before"      // nothing has begun
	LoadBefore    Point = "load.before"    // a transaction is open
	SaveBefore    Point = "save.before"    // it is decided, and nothing is written
	SaveAfter     Point = "save.after"     // it is written, not committed
	TxCallBefore  Point = "tx_call.before" // a handler inside the transaction is about to write
	TxCallAfter   Point = "tx_call.after"  // it has written
	SettleBefore  Point = "settle.before"  // the outcome of a task is known here only
	SettleAfter   Point = "settle.after"   // it is written, not committed
	CommitBefore  Point = "commit.before"  // all is written
	CommitAfter   Point = "commit.after"   // it is committed, and the caller does not know
)

// Kind says what is under way at a point.
type Kind string

// The kinds.
const (
	Create     Kind = "create"      // a caller creates a record
	Fire       Kind = "fire"        // a caller fires an event
	Chain      Kind = "chain"       // an event with what it raises: several steps, one transaction
	Started    Kind = "started"     // a record that another one starts, in its transaction
	Answer     Kind = "answer"      // what an effect answered, with the end of the effect
	Deadline   Kind = "deadline"    // the event of a deadline
	Deliver    Kind = "deliver"     // a message is noted as delivered
	Retry      Kind = "retry"       // a failed attempt is noted, another is planned
	DeadLetter Kind = "dead_letter" // an effect becomes a dead letter
	Requeue    Kind = "requeue"     // an operator requeues a dead letter
	Cleanup    Kind = "cleanup"     // what an attempt left behind is removed
	InTx       Kind = "transaction"
	// The delivery classes of effects on their way to a handler.
	Idempotent Kind = "idempotent"
	Keyed      Kind = "keyed"
	Queryable  Kind = "queryable"
	AtMostOnce Kind = "at_most_once"
)

// allKinds lists the kinds in their order.
var allKinds = []Kind{
	Create, Fire, Chain, Started, Answer, Deadline, Deliver, Retry, DeadLetter, Requeue, Cleanup, InTx, Idempotent, Keyed, Queryable, AtMostOnce,
}

var (
	eventPoints   = []Point{TxBefore, LoadBefore, SaveBefore, SaveAfter, CommitBefore, CommitAfter}
	writePoints   = []Point{SaveBefore, SaveAfter, CommitBefore, CommitAfter}
	settlePoints  = []Point{TxBefore, SettleBefore, SettleAfter, CommitBefore, CommitAfter}
	effectPoints  = []Point{ClaimBefore, ClaimAfter, HandlerBefore, HandlerAfter}
	cleanupPoints = []Point{HandlerBefore, HandlerAfter}
)

// pointsOf lists the points that this kind passes.
func pointsOf(k Kind) []Point {
	switch k {
	case Create, Fire, Answer:
		return eventPoints
	case Deadline:
		return append([]Point{ClaimBefore, ClaimAfter}, eventPoints...)
	case Chain, Started:
		return writePoints
	case Deliver, Retry, DeadLetter, Requeue:
		return settlePoints
	case Cleanup:
		return cleanupPoints
	case InTx:
		return []Point{TxCallBefore, TxCallAfter}
	case Queryable:
		return append([]Point{QueryBefore, QueryAfter}, effectPoints...)
	case Idempotent, Keyed, AtMostOnce:
		return effectPoints
	}
	panic(ir.NoForm("crash.pointsOf", k))
}

// sharedPoints lists the points at which one of several workers can be killed while it
// does something of this kind: those where it is known what the worker does.
func sharedPoints(k Kind) []Point {
	switch k {
	case Answer, Started:
		return writePoints
	case Deadline:
		return append([]Point{ClaimAfter}, writePoints...)
	case Deliver, Retry, DeadLetter:
		return settlePoints[1:]
	case Idempotent, Keyed, Queryable, AtMostOnce: // a worker that reserves a message does not ask
		return effectPoints[1:]
	case Cleanup:
		return cleanupPoints
	case Create, Fire, Chain, Requeue, InTx: // done by callers
		return nil
	}
	panic(ir.NoForm("crash.sharedPoints", k))
}

// steps reports whether a worker takes a step in a task of kind k.
func (k Kind) steps() bool {
	switch k {
	case Answer, Deadline:
		return true
	case Create, Fire, Chain, Started, Deliver, Retry, DeadLetter, Requeue, Cleanup, InTx, Idempotent, Keyed, Queryable, AtMostOnce:
		return false
	}
	panic(ir.NoForm("crash.Kind.steps", k))
}

// Window is a point of one kind of task of one machine.
type Window struct {
	Machine string
	Kind    Kind
	Point   Point
}

func (w Window) String() string { return fmt.Sprintf("%s: %s at %s", w.Machine, w.Kind, w.Point) }

// windowsOf lists the windows that a machine must pass.
func windowsOf(machine string, kinds []Kind) []Window {
	var out []Window
	for _, k := range kinds {
		for _, p := range pointsOf(k) {
			out = append(out, Window{machine, k, p})
		}
	}
	return out
}

// Hit is the n-th hit of a point, counted from 1.
type Hit struct {
	Point Point `json:"point"`
	N     int   `json:"n"`
}
