package simulate

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/gen/diag"
	"github.com/fsmgen/fsmgen/gen/interp"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// Reply is the answer to one command.
type Reply struct {
	Command string
	Quit    bool
	// Err says why the command failed: it was not understood, or the machine
	// refused the event.
	Err error

	session  *Session
	outcomes []outcome
	verdicts []verdict
	rows     []entry  // of history
	record   bool     // show the record
	notes    []string // further lines
}

// errRefused is the Err of a command whose event was rejected; the outcome
// explains it.
var errRefused = errors.New("the event was refused")

// command is one word of the little language.
type command struct {
	usage, does string
	run         func(*Session, []string, *Reply) error
}

// commands are in the order of the help.
func commands() []command {
	return []command{
		{"fire EVENT [field=value]... [as ACTOR[:ID]]", "offer an event to the record; the first one creates it", (*Session).doFire},
		{"why EVENT [as ACTOR[:ID]]", "explain whether an event is legal now, and what it needs", (*Session).doWhy},
		{"events [as ACTOR[:ID]]", "list the legal events, and why the others are refused", (*Session).doEvents},
		{"state", "show the record, the clock and the deadline", (*Session).doState},
		{"history", "list the steps so far", (*Session).doHistory},
		{"advance DURATION", "move the clock; deadlines that come due fire", (*Session).doAdvance},
		{"as ACTOR[:ID]", "fire as this actor from now on", (*Session).doAs},
		{"set PARAM VALUE", "change a parameter of the machine", (*Session).doSet},
		{"undo", "take back the last change", (*Session).doUndo},
		{"reset", "begin again", (*Session).doReset},
		{"help", "show this list", (*Session).doHelp},
		{"quit", "leave", (*Session).doQuit},
	}
}

// Do obeys one line. An empty line and a comment (#) do nothing.
func (s *Session) Do(line string) Reply {
	reply := Reply{Command: strings.TrimSpace(line), session: s}
	words := split(line, ' ')
	if len(words) == 0 || strings.HasPrefix(words[0], "#") {
		return reply
	}
	var names []string
	for _, c := range commands() {
		name, _, _ := strings.Cut(c.usage, " ")
		if name == words[0] {
			reply.Err = c.run(s, words[1:], &reply)
			return reply
		}
		names = append(names, name)
	}
	reply.Err = fmt.Errorf("%s is not a command; %s", words[0], suggest(words[0], names))
	return reply
}

func suggest(name string, known []string) string {
	if near := diag.Nearest(name, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "there are: " + strings.Join(known, ", ")
}

func (s *Session) doFire(words []string, reply *Reply) error {
	words, as := cutActor(words)
	ev, err := s.event(words)
	if err != nil {
		return err
	}
	args, err := s.payload(ev, words[1:])
	if err != nil {
		return err
	}
	actor, err := s.actorFor(ev, as)
	if err != nil {
		return err
	}
	s.remember()
	out := s.fire(ev, args, actor)
	reply.outcomes = []outcome{out}
	if out.rejection != nil {
		s.undo()
		reply.verdicts = s.legal(nil)
		return errRefused
	}
	return nil
}

func (s *Session) event(words []string) (*ir.Event, error) {
	if len(words) == 0 {
		return nil, errors.New("name an event; `events` lists them")
	}
	var names []string
	for _, ev := range s.machine.Events {
		if ev.Text == words[0] {
			return ev, nil
		}
		names = append(names, ev.Text)
	}
	return nil, fmt.Errorf("there is no event %s; %s", words[0], suggest(words[0], names))
}

// payload reads field=value words.
func (s *Session) payload(ev *ir.Event, words []string) ([]ir.Value, error) {
	fields := interp.Payload(ev)
	args := make([]ir.Value, len(fields))
	var names []string
	for _, f := range fields {
		names = append(names, f.Text)
	}
words:
	for _, word := range words {
		name, text, ok := strings.Cut(word, "=")
		if !ok {
			return nil, fmt.Errorf("%s: write field=value", word)
		}
		for i, f := range fields {
			if f.Text != name {
				continue
			}
			v, err := parseValue(text, f.Type, s.now)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			args[i] = v
			continue words
		}
		if len(fields) == 0 {
			return nil, fmt.Errorf("%s carries no fields", ev)
		}
		return nil, fmt.Errorf("%s has no field %s; %s", ev, name, suggest(name, names))
	}
	return args, nil
}

func (s *Session) doAdvance(words []string, reply *Reply) error {
	if len(words) != 1 {
		return errors.New("say how far: advance 48h")
	}
	d, err := time.ParseDuration(words[0])
	if err != nil || d < 0 {
		return fmt.Errorf("%s is not a duration to advance by; write one such as 90s or 48h", words[0])
	}
	s.remember()
	reply.outcomes, err = s.advance(d)
	reply.notes = append(reply.notes, "it is "+show(s.now))
	return err
}

func (s *Session) doSet(words []string, reply *Reply) error {
	if len(words) != 2 {
		return errors.New("say what and to what: set PARAM VALUE")
	}
	var names []string
	for _, p := range s.machine.Params {
		names = append(names, p.Text)
		if p.Text != words[0] {
			continue
		}
		v, err := parseValue(words[1], p.Type, s.now)
		if err != nil {
			return err
		}
		s.remember()
		s.params[p] = v
		reply.notes = []string{fmt.Sprintf("%s is %s (default %s); a deadline that is armed keeps its time", p, show(v), show(p.Default))}
		return nil
	}
	if len(names) == 0 {
		return fmt.Errorf("%s has no params", s.machine)
	}
	return fmt.Errorf("there is no param %s; %s", words[0], suggest(words[0], names))
}

func (s *Session) doAs(words []string, reply *Reply) error {
	if len(words) != 1 {
		return errors.New("say who: as ACTOR[:ID]")
	}
	actor, err := s.parseActor(words[0])
	if err != nil {
		return err
	}
	s.remember()
	s.actor = &actor
	reply.notes = []string{"firing as " + showActor(actor)}
	return nil
}

func (s *Session) doUndo(_ []string, reply *Reply) error {
	if !s.undo() {
		return errors.New("there is nothing to undo")
	}
	reply.record = true
	return nil
}

func (s *Session) doReset(_ []string, reply *Reply) error {
	s.remember()
	s.reset()
	reply.record = true
	return nil
}

func (s *Session) doState(_ []string, reply *Reply) error {
	reply.record = true
	return nil
}

func (s *Session) doHistory(_ []string, reply *Reply) error {
	reply.rows = s.history
	if len(s.history) == 0 {
		reply.notes = []string{"nothing happened yet"}
	}
	return nil
}

func (s *Session) doHelp(_ []string, reply *Reply) error {
	var rows [][]string
	for _, c := range commands() {
		rows = append(rows, []string{c.usage, c.does})
	}
	reply.notes = align(rows)
	return nil
}

func (s *Session) doQuit(_ []string, reply *Reply) error {
	reply.Quit = true
	return nil
}
