package engine_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// run carries out one command of a transcript:
//
//	create MACHINE ID EVENT [{json}] [by ROLE[:ID]] [key KEY]
//	fire   MACHINE ID EVENT [{json}] [by ROLE[:ID]] [key KEY]
//	script EFFECT REPLY             what the next call of the effect does: ok,
//	                                answer EVENT [{json}], fail TEXT, permanent
//	                                TEXT, panic TEXT, absent, hang, crash, sleep
//	                                EVENT (until wake, then that answer), or
//	                                then COMMAND, which runs a command first
//	wake                            the sleeping handler answers
//	step [N]                        N rounds of the worker, one by default
//	tick DURATION                   moves the clock
//	crash                           a new process takes the file over
//	two-step                        the same, storing what is raised
//	timeout DURATION                the same, with this HandlerTimeout
//	show MACHINE ID                 state and version, and the whole history
//	list MACHINE
//	dead
//	requeue | discard               the oldest dead letter
//	resume MACHINE ID
func (s *stage) run(line string) {
	command, rest, _ := strings.Cut(line, " ")
	ctx := s.t.Context()
	switch command {
	case "create", "fire":
		s.fire(ctx, command, rest)
	case "script":
		effect, reply, _ := strings.Cut(rest, " ")
		s.mu.Lock()
		s.script[effect] = append(s.script[effect], reply)
		s.mu.Unlock()
	case "step":
		s.step(rest)
	case "tick":
		s.clock.tick(s.duration(rest))
	case "crash":
		s.open()
	case "wake":
		s.wake()
	case "two-step":
		s.config.TwoStep = true
		s.open()
	case "timeout":
		s.config.HandlerTimeout = s.duration(rest)
		s.open()
	case "show", "list", "dead":
		s.look(ctx, command, strings.Fields(rest))
	case "requeue", "discard", "resume":
		s.administer(ctx, command, strings.Fields(rest))
	default:
		s.t.Fatalf("no command %q", line)
	}
}

func (s *stage) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

func (s *stage) fire(ctx context.Context, command, rest string) {
	machine, rest, _ := strings.Cut(rest, " ")
	id, rest, _ := strings.Cut(rest, " ")
	call := engine.Call{By: fsm.System()}
	if i := strings.LastIndex(rest, " key "); i >= 0 {
		call.IdempotencyKey, rest = rest[i+5:], rest[:i]
	}
	if i := strings.LastIndex(rest, " by "); i >= 0 {
		call.By.Role, call.By.ID, _ = strings.Cut(rest[i+4:], ":")
		rest = rest[:i]
	}
	f := s.engine.Fire
	if command == "create" {
		f = s.engine.Create
	}
	o, err := f(ctx, machine, fullID(id), parseEvent(rest), call)
	if err != nil {
		s.say("error: %s", strings.ReplaceAll(err.Error(), fullID(id), id))
		return
	}
	s.say("%s%s", outcome(o), map[bool]string{true: ", already there"}[o.AlreadyThere]+map[bool]string{true: ", replayed"}[o.Replayed])
}

func outcome(o engine.Outcome) string {
	var b strings.Builder
	for _, step := range o.Steps {
		fmt.Fprintf(&b, "%s: ", step.Transition)
	}
	return fmt.Sprintf("%s%s v%d", b.String(), o.Record.StateName(), o.Version)
}

// step runs rounds; one in which a handler crashes never ends.
func (s *stage) step(times string) {
	n := 1
	if times != "" {
		var err error
		if n, err = strconv.Atoi(times); err != nil {
			s.t.Fatal(err)
		}
	}
	for range n {
		done := make(chan struct{})
		e := s.engine
		go func() {
			defer close(done)
			count, err := e.Step(s.over)
			if err != nil {
				s.say("step: %v", err)
			} else if count == 0 {
				s.say("idle")
			}
		}()
		select {
		case <-done:
		case <-s.crashed:
			s.asleep = done
			return
		}
	}
}

// wake lets the sleeping handler answer, and waits until its round ends.
func (s *stage) wake() {
	if s.asleep == nil {
		s.t.Fatalf("nothing sleeps:\n%s", s.flush())
	}
	s.awake <- struct{}{}
	<-s.asleep
	s.asleep = nil
}

func (s *stage) look(ctx context.Context, command string, args []string) {
	switch command {
	case "show":
		found, err := s.engine.Get(ctx, args[0], fullID(args[1]))
		if err != nil {
			s.say("error: %v", err)
			return
		}
		s.say("%s v%d", found.Record.StateName(), found.Version)
		steps, err := s.engine.History(ctx, args[0], fullID(args[1]), 0, 0)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, h := range steps {
			s.say("  %d %s: %s -%s-> %s by %s", h.Version, h.Transition, h.From, h.Event, h.To, h.By.Role)
		}
	case "list":
		records, err := s.engine.List(ctx, args[0], "", "", 0)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, r := range records {
			s.say("%s v%d", r.Record.StateName(), r.Version)
		}
	case "dead":
		letters, err := s.engine.DeadLetters(ctx, engine.Filter{}, "", 0)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, l := range letters {
			text, _, _ := strings.Cut(l.LastError, "\n")
			s.say("%s.%s of %s after %d attempts: %s", l.Machine, l.Effect, alias(l.RecordID), l.Attempts, text)
		}
	}
}

func (s *stage) administer(ctx context.Context, command string, args []string) {
	if command == "resume" {
		did, err := s.engine.Resume(ctx, args[0], fullID(args[1]), "ann", "it works again")
		if err != nil {
			s.t.Fatal(err)
		}
		s.say("deadline %v, requeued %d", did.Deadline, did.Requeued)
		return
	}
	letters, err := s.engine.DeadLetters(ctx, engine.Filter{}, "", 1)
	if err != nil || len(letters) == 0 {
		s.t.Fatalf("no dead letter: %v", err)
	}
	resolve := s.engine.Requeue
	if command == "discard" {
		resolve = s.engine.Discard
	}
	if err := resolve(ctx, letters[0].MessageID, "ann", "it works again"); err != nil {
		s.t.Fatal(err)
	}
}
