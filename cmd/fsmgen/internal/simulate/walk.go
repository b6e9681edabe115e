package simulate

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Render writes a reply in some form.
type Render func(Reply) ([]byte, error)

// maxLine bounds one line of input.
const maxLine = 1 << 20

// ScriptError is a line of a script that did not do what it should.
type ScriptError struct {
	Line    int
	Command string
	Err     error
}

// Error names the line.
func (e *ScriptError) Error() string { return fmt.Sprintf("line %d: %s: %v", e.Line, e.Command, e.Err) }

// Unwrap returns what went wrong.
func (e *ScriptError) Unwrap() error { return e.Err }

// Script obeys every line of in and writes the transcript. A line that begins
// with ! must be refused. It stops at the first line that does otherwise and
// returns a [ScriptError].
func Script(s *Session, in io.Reader, out io.Writer, echo bool, render Render) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if echo {
			fmt.Fprintln(out, strings.TrimSpace("> "+line))
		}
		command, refusal := strings.CutPrefix(line, "!")
		reply := s.Do(command)
		if err := write(out, reply, render); err != nil {
			return err
		}
		switch {
		case reply.Quit:
			return nil
		case refusal && reply.Err == nil:
			return &ScriptError{n, line, errors.New("it was accepted, and ! expects a refusal")}
		case refusal && !errors.Is(reply.Err, errRefused), !refusal && reply.Err != nil:
			return &ScriptError{n, line, reply.Err}
		}
	}
	return lines.Err()
}

// Talk obeys a person at a terminal until the end of the input.
func Talk(s *Session, in io.Reader, out io.Writer, render Render) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	for {
		fmt.Fprintf(out, "%s %s> ", s.machine, s.prompt())
		if !lines.Scan() {
			fmt.Fprintln(out)
			return lines.Err()
		}
		reply := s.Do(lines.Text())
		if err := write(out, reply, render); err != nil {
			return err
		}
		if reply.Quit {
			return nil
		}
	}
}

func (s *Session) prompt() string {
	if s.record == nil {
		return "none"
	}
	return s.record.State.Text
}

// write renders what a command answered; an empty line answers nothing.
func write(out io.Writer, reply Reply, render Render) error {
	if reply.Command == "" || strings.HasPrefix(reply.Command, "#") {
		return nil
	}
	data, err := render(reply)
	if err == nil {
		_, err = out.Write(data)
	}
	return err
}
