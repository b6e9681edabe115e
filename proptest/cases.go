package proptest

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"

	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/interp"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// Limits of one situation and caller. Above it a sample is drawn.
const (
	maxCases = 20_000 // where a row exists for the caller
	fewCases = 3      // where none does and nothing but that decides
	// manyCases: a space above it is varied enough by itself.
	manyCases = 300
)

// testCase is one call with the record it meets, nil for a creation.
type testCase struct {
	record *interp.Record
	input  interp.Input
}

// cases enumerates the value classes of a situation for a caller, each
// completed so many times. Records that break the holds of their state cannot
// exist and are left out.
func (s *situation) cases(c caller, limit, times int) iter.Seq[testCase] {
	return func(yield func(testCase) bool) {
		rng := rand.New(rand.NewPCG(uint64(s.event.Index), uint64(limit)))
		for a := range s.assignments(s.space, limit) {
			for range times {
				rec := s.record(a, idOf(s.machine, 0), rng)
				if rec != nil && interp.Broken(rec, rec.State) != nil {
					break
				}
				if !yield(testCase{rec, s.input(a, c, rec, rng)}) {
					return
				}
			}
		}
	}
}

// completions is how often Equivalence completes an assignment with other
// values of the variables that decide nothing.
func (s *situation) completions() int {
	if s.space.Size() > manyCases {
		return 1
	}
	return 3
}

// input is the event of an assignment. Its time has nanoseconds, which every
// execution must drop alike.
func (s *situation) input(a domain.Assignment, c caller, rec *interp.Record, rng *rand.Rand) interp.Input {
	return interp.Input{Event: s.event, Args: s.args(a, rng), Actor: c.actor(s.machine, rec), Now: s.now.Add(789)}
}

// limit is how many assignments are tried for the caller, and whether that
// is a sample.
func (s *situation) limit(c caller) (limit int, sampled bool) {
	if !c.mayFire(s.rows) {
		return fewCases, false
	}
	return maxCases, !s.space.Exhaustive(maxCases)
}

// spoiled yields the case once for every way in which its payload can be
// invalid, beside being no JSON of its type.
func spoiled(c testCase) iter.Seq[testCase] {
	return func(yield func(testCase) bool) {
		for i, f := range interp.Payload(c.input.Event) {
			for _, bad := range badValues(f) {
				spoilt := c
				spoilt.input.Args = append([]ir.Value{}, c.input.Args...)
				spoilt.input.Args[i] = bad
				if !yield(spoilt) {
					return
				}
			}
		}
	}
}

func badValues(f *ir.Field) []ir.Value {
	var out []ir.Value
	if !f.Type.Optional {
		out = append(out, nil)
	}
	switch f.Type.Base {
	case ir.EnumOf:
		out = append(out, "no such value")
	case ir.Int:
		if f.Min != nil {
			out = append(out, *f.Min-1)
		}
		if f.Max != nil {
			out = append(out, *f.Max+1)
		}
	case ir.String:
		if f.Min != nil && *f.Min > 0 {
			out = append(out, strings.Repeat("x", int(*f.Min)-1))
		}
		if f.Max != nil && *f.Max < 10_000 {
			out = append(out, strings.Repeat("é", int(*f.Max)+1))
		}
	case ir.Bool, ir.Time, ir.Duration, ir.UUID, ir.JSON, ir.ListOf: // every value will do
	default:
		panic(ir.NoForm("proptest.badValues", f.Type.Base))
	}
	return out
}

// call is the case as JSON.
func (c testCase) call(m *ir.Machine) Call {
	call := Call{
		Event: c.input.Event.Text, Payload: interp.MarshalPayload(c.input.Event, c.input.Args),
		ActorID: interp.MarshalValue(actorType(m), c.input.Actor.ID), Now: c.input.Now,
		Params: MarshalParams(m),
	}
	if c.input.Actor.Role != nil {
		call.Role = c.input.Actor.Role.Text
	}
	if c.record == nil {
		call.ID = interp.MarshalValue(m.ID.Type, idOf(m, 0))
	} else {
		call.Record = interp.MarshalRecord(m, c.record)
	}
	return call
}

// decide asks the interpreter.
func (c testCase) decide(m *ir.Machine) (interp.Result, *interp.Rejection) {
	if c.record == nil {
		return interp.Create(m, idOf(m, 0), c.input)
	}
	return interp.Fire(m, c.record, c.input)
}

// String shows what it takes to repeat the case.
func (c testCase) describe(m *ir.Machine) string {
	call := c.call(m)
	return fmt.Sprintf("event %s by %s %s with %s at %s on %s", call.Event, c.input.Actor, call.ActorID, call.Payload, call.Now.Format("15:04:05"), call.Record)
}

// isLegal reports whether v is a value that f can store.
func isLegal(f *ir.Field, v ir.Value) bool {
	return (v != nil || f.Type.Optional) && domain.WithinBounds(f, v)
}
