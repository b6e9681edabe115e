package scenarios

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/gen/interp"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// found takes a moment that was found, and reports whether it is a new one.
type found func(*moment) bool

// patience is how many payloads of an event are tried that bring nothing new.
const patience = 300

// replies lets the handler of the oldest work reply: with each answer, with
// nothing, or with a failure for good.
func (s *search) replies(m *moment, add found) {
	j := m.jobs[0]
	asked := s.asked(j)
	rest := m.clone()
	rest.jobs = slices.Delete(rest.jobs, 0, 1)
	answer := func(f *ir.Fire, inputs iter.Seq[interp.Input], r reply) {
		for in := range inputs {
			result, ok := s.fire(m.world, j.machine, in)
			if !ok {
				continue
			}
			r := r
			if !r.broken {
				r.answer = &in
			}
			if next, ok := s.take(rest, j.machine, result, m.steps); ok {
				add(&moment{world: next, before: m, asked: &asked, reply: &r, steps: m.steps})
			}
		}
	}
	record := m.instances[j.machine].record
	for _, f := range j.effect.Returns {
		answer(f, s.Group.calls[j.machine].Answers(record, f, m.now), reply{})
	}
	if f := j.effect.Fails; f != nil {
		answer(f, s.Group.calls[j.machine].Answers(record, f, m.now), reply{broken: true})
	}
	add(&moment{world: rest, before: m, asked: &asked, reply: &reply{}, steps: m.steps})
}

// fire lets a record decide; ok is false if nothing comes of it.
func (s *search) fire(w *world, i int, in interp.Input) (result interp.Result, ok bool) {
	record := w.instances[i].record
	var rejection *interp.Rejection
	if record == nil {
		result, rejection = interp.Create(s.machines[i], aRecord(s.machines[i]), in)
	} else {
		result, rejection = interp.Fire(s.machines[i], record, in)
	}
	return result, rejection == nil && !result.AlreadyThere()
}

// fireDeadline fires a due deadline. A refused one is consumed.
func (s *search) fireDeadline(m *moment, i int, add found) {
	t := m.instances[i].timer
	rest := m.clone()
	rest.instances[i].timer = nil
	in := interp.Input{Event: t.fire.Event, Args: t.args, Actor: interp.System(), Now: m.now}
	if len(s.machines[i].Actors) == 0 {
		in.Actor = interp.Actor{}
	}
	next := &moment{world: rest, before: m, steps: m.steps}
	if result, ok := s.fire(m.world, i, in); ok {
		if next.world, ok = s.take(rest, i, result, m.steps); !ok {
			return // it comes due again and again
		}
		if i == 0 {
			next.timed = m.instances[i].record.State
		}
	}
	add(next)
}

// calls lets callers fire.
func (s *search) calls(m *moment, add found) {
	for i, machine := range s.machines {
		record := m.instances[i].record
		if record == nil && s.Started(machine) {
			continue
		}
		for _, ev := range s.callable(machine, record == nil) {
			var who interp.Actor
			idle := 0
			for in := range s.Group.calls[i].Of(record, ev, m.now) {
				if in.Actor != who {
					who, idle = in.Actor, 0
				}
				switch idle++; {
				case idle > patience:
				case s.call(m, i, in, add):
					idle = 0
				}
			}
		}
	}
}

// callable lists what callers fire at a record, or create it with.
func (s *search) callable(m *ir.Machine, create bool) []*ir.Event {
	if create || s.every {
		return slices.DeleteFunc(slices.Clone(m.Events), func(ev *ir.Event) bool { return ev.Internal })
	}
	return Callable(m)
}

// call fires one event of a caller, if it is accepted, with an unused key and with times
// that are not past soon.
func (s *search) call(m *moment, i int, in interp.Input, add found) bool {
	in = unused(in, m.steps)
	record := m.instances[i].record
	result, ok := s.fire(m.world, i, in)
	if !ok {
		return false
	}
	if later, ok := stretched(in); ok {
		if other, ok := s.fire(m.world, i, later); ok && slices.EqualFunc(other.Steps, result.Steps, func(a, b interp.Step) bool { return a.Row == b.Row }) {
			in, result = later, other
		}
	}
	if key, ok := keyOf(result.Steps[0].Input, record); ok && m.keys[s.machines[i].Text+"/"+key] {
		return false
	}
	next, ok := s.take(m.world, i, result, m.steps+1)
	return ok && add(&moment{world: next, before: m, step: &step{machine: i, create: record == nil, in: in}, steps: m.steps + 1})
}

// unused gives what an event's key is made of a value that no earlier step has.
func unused(in interp.Input, steps int) interp.Input {
	if in.Event.Key == nil {
		return in
	}
	in.Args = slices.Clone(in.Args)
	for i, f := range in.Event.Fields {
		isPart := slices.ContainsFunc(in.Event.Key.Parts, func(p ir.TemplatePart) bool { return p.Field == f })
		if text, ok := in.Args[i].(string); ok && isPart && f.Type.Base == ir.String {
			in.Args[i] = fmt.Sprint(text, "#", steps)
		}
	}
	return in
}

// far is longer than a crash and the repeats after it take.
const far = 1000 * time.Hour

// stretched makes the times of a payload that are yet to come come late.
func stretched(in interp.Input) (interp.Input, bool) {
	in.Args = slices.Clone(in.Args)
	changed := false
	for i, v := range in.Args {
		if at, ok := v.(time.Time); ok && at.After(in.Now) && at.Before(in.Now.Add(far)) {
			in.Args[i] = in.Now.Add(far)
			changed = true
		}
	}
	return in, changed
}

// waits lets time pass until a deadline is due, or a time of a record has come.
func (s *search) waits(m *moment, add found) {
	var times []time.Time
	for i, f := range m.instances {
		if f.timer != nil {
			times = append(times, f.timer.at)
		}
		if f.record == nil {
			continue
		}
		for _, field := range s.machines[i].Fields {
			if at, ok := f.record.Get(field).(time.Time); ok && at.Year() < 9000 {
				times = append(times, at)
			}
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	for _, at := range slices.CompactFunc(times, time.Time.Equal) {
		at = at.Add(time.Second)
		if !at.After(m.now) {
			continue
		}
		w := m.clone()
		w.now = at
		add(&moment{world: w, before: m, step: &step{wait: at.Sub(m.now)}, steps: m.steps + 1})
	}
}
