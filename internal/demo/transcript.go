package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// transcript prints what happens in aligned columns.
type transcript struct {
	out    io.Writer
	colour bool
}

func newTranscript(out io.Writer, colour bool) *transcript { return &transcript{out, colour} }

// The colours.
const (
	bold  = "1"
	faint = "2"
	red   = "31"
	green = "32"
	cyan  = "36"
)

func (t *transcript) paint(style, text string) string {
	if !t.colour {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

func (t *transcript) line(format string, args ...any) {
	fmt.Fprintln(t.out, strings.TrimRight(fmt.Sprintf(format, args...), " "))
}

func (t *transcript) title(format string, args ...any) {
	t.line("\n%s\n", t.paint(bold, fmt.Sprintf(format, args...)))
}

// step prints a transition, then what it causes and the deadline that it sets.
func (t *transcript) step(at time.Time, by string, s fsm.Step) {
	edge := s.From + " -> " + s.To
	switch {
	case s.Internal:
		edge = s.To + " (stays)"
	case s.From == "":
		edge = "new -> " + s.To
	}
	t.line("%s  %s  %s  by %s", at.Format(clock), t.paint(green, pad(s.Event, 24)), t.paint(bold, pad(edge, 44)), by)
	t.line("%s%s", indent, t.paint(faint, "row    "+s.Transition))
	for _, e := range s.Effects {
		t.line("%s%s%s  %s", indent, pad(word(e), 7), t.paint(cyan, pad(e.Name, 36)), t.paint(faint, payload(e)))
	}
	if d := s.Deadline; d != nil && !s.KeepDeadline {
		t.line("%stimer  %s at %s, unless it leaves %s before", indent, d.Fire.Name, d.At.Format(clock), s.To)
	}
}

// clock is how times are written.
const clock = "Jan 02 15:04:05"

// indent is the width of the time column.
const indent = "                   "

// refused prints an attempt that the machine rejected, with the facts that
// the rejection carries.
func (t *transcript) refused(at time.Time, event, by string, err error) error {
	if err == nil {
		return fmt.Errorf("%s by %s should be refused and was accepted", event, by)
	}
	var x *fsm.Rejection
	if !errors.As(err, &x) {
		return fmt.Errorf("%s by %s: not a rejection: %w", event, by, err)
	}
	t.line("%s  %s  %s  by %s", at.Format(clock), t.paint(red, pad(event, 24)), t.paint(red, pad("refused in "+x.State, 44)), by)
	t.line("%swhy    %s", indent, x)
	t.line("%srecord unchanged; legal here: %s", indent, strings.Join(x.Legal, ", "))
	return nil
}

func (t *transcript) ended(format string, args ...any) {
	t.line("\n%s", t.paint(green, fmt.Sprintf(format, args...)))
}

func pad(text string, width int) string { return fmt.Sprintf("%-*s", width, text) }

// word says what kind of effect e is.
func word(e fsm.Effect) string {
	if e.Kind == fsm.EffectCall {
		return "do"
	}
	return string(e.Kind)
}

// maxPayload is the widest payload shown, in characters.
const maxPayload = 84

// payload is the JSON of an effect without quotes, cut to a line.
func payload(e fsm.Effect) string {
	if e.Payload == nil {
		return ""
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e.Payload); err != nil {
		return err.Error()
	}
	text := []rune(plain.Replace(strings.TrimSpace(b.String())))
	if len(text) > maxPayload {
		text = append(text[:maxPayload-1], '…')
	}
	return string(text)
}

// plain makes JSON readable at a glance; the ids of the records are shortened.
var plain = strings.NewReplacer(`,"`, ", ", `":`, ": ", `"`, "", dealID, "…7c01", registrationID, "…7702")
