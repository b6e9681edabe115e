package simulate

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fsmgen/fsmgen/gen/interp"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// Paint colours a word for a terminal; style is an ANSI code.
type Paint func(style, text string) string

const (
	bold  = "1"
	red   = "31"
	green = "32"
	faint = "2"
)

// Plain is the Paint of everything that is not a terminal.
func Plain(_, text string) string { return text }

// Colours is the Paint of a terminal.
func Colours(style, text string) string { return "\x1b[" + style + "m" + text + "\x1b[0m" }

// Text renders the reply for people.
func (r Reply) Text(paint Paint) string {
	t := &text{paint: paint, session: r.session}
	for _, out := range r.outcomes {
		t.outcome(out)
	}
	if r.Err != nil && len(r.outcomes) == 0 {
		t.line(paint(red, "error: ")+"%v", r.Err)
	}
	t.verdicts(r)
	if r.record {
		t.record()
	}
	t.history(r.rows)
	for _, n := range r.notes {
		t.line("%s", n)
	}
	return t.b.String()
}

type text struct {
	b       strings.Builder
	paint   Paint
	session *Session
}

func (t *text) line(format string, args ...any) {
	t.b.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " ") + "\n")
}

func (t *text) outcome(out outcome) {
	if out.deadline {
		t.line("%s: the deadline fires %s", show(out.at), out.event)
	}
	switch {
	case out.rejection != nil:
		t.rejection(out.rejection)
		return
	case out.result.AlreadyThere():
		t.line("%s: nothing to do, %s is already in %s", t.paint(green, "ok"), t.session.machine, out.result.Record.State)
		return
	}
	actor := out.actor
	for _, step := range out.result.Steps {
		t.step(step, actor)
		actor = interp.System()
	}
}

// step renders one row taken, with its effects and what it did to the timer.
func (t *text) step(step interp.Step, actor interp.Actor) {
	t.line("%s  %s  version %d%s", t.paint(green, step.Row.Text), t.paint(bold, edge(step)), step.After.Version, by(actor))
	var rows [][]string
	for _, e := range step.Effects {
		rows = append(rows, []string{"  do " + e.Name(), kindOf(e), values(e)})
	}
	for _, l := range align(rows) {
		t.line("%s", l)
	}
	switch d := step.Deadline; {
	case d.At != nil:
		t.line("  deadline %s at %s", d.Fire.Event, show(*d.At))
	case d.Kept && t.session.timer != nil:
		t.line("  deadline stays")
	}
	if f := step.Row.Raise; f != nil {
		t.line("  raises %s", f.Event)
	}
}

func edge(step interp.Step) string {
	if step.Row.To == nil {
		return step.After.State.Text + " (stays)"
	}
	return stateName(step.Before.State) + " -> " + step.After.State.Text
}

func by(actor interp.Actor) string {
	if actor.Role == nil {
		return ""
	}
	return ", by " + showActor(actor)
}

func values(e interp.Effect) string {
	var parts []string
	for _, v := range e.Values {
		parts = append(parts, v.Name+"="+show(v.Value))
	}
	if e.Value != nil {
		parts = append(parts, show(e.Value))
	}
	return strings.Join(parts, " ")
}

// kindOf says what an effect is and, of work, with what it can answer.
func kindOf(e interp.Effect) string {
	if e.Metric != nil {
		return "metric, " + string(e.Metric.Type)
	}
	f := e.Effect
	switch f.Kind {
	case ir.Log:
		return "log, " + string(f.Level)
	case ir.Upsert, ir.Update, ir.Delete:
		return "table " + f.Table.Text
	case ir.Start:
		return "starts " + f.Machine.Text
	case ir.Call:
		return callKind(f)
	}
	panic(ir.NoForm("simulate.kindOf", f.Kind))
}

// callKind is the delivery class of a call, its destination and its answers.
func callKind(f *ir.Effect) string {
	out := string(f.Delivery)
	if f.To != "" {
		out += ", to " + f.To
	}
	var answers []string
	for _, a := range f.Returns {
		answers = append(answers, a.Event.Text)
	}
	if f.Fails != nil {
		answers = append(answers, f.Fails.Event.Text+" on failure")
	}
	if f.Lost != nil {
		answers = append(answers, f.Lost.Event.Text+" if lost")
	}
	if len(answers) > 0 {
		out += "; answers " + strings.Join(answers, ", ")
	}
	return out
}

func (t *text) rejection(r *interp.Rejection) {
	t.line("%s (%s): %s", t.paint(red, "refused"), r.Reason, because(r))
	for _, c := range r.Clauses {
		t.line("  %s", clause(c))
	}
}

// because says a reason in words.
func because(r *interp.Rejection) string {
	in := stateName(r.State)
	switch r.Reason {
	case interp.InvalidTransition:
		return fmt.Sprintf("no row takes %s in %s", r.Event, in)
	case interp.NotAllowed:
		return fmt.Sprintf("no row lets %s fire %s in %s", showActor(r.Actor), r.Event, in)
	case interp.GuardFailed:
		return fmt.Sprintf("rows take %s in %s, but no guard holds", r.Event, in)
	case interp.Refused:
		return fmt.Sprintf("a row of %s refuses %s with class %s", in, r.Event, r.Failure)
	case interp.HoldsFailed:
		return "the new record would break what its state holds"
	case interp.Immutable:
		return fmt.Sprintf("%s is written once", r.Field)
	case interp.OutOfRange:
		return fmt.Sprintf("%s would be out of its range", r.Field)
	case interp.Overflow:
		return "a computed value does not fit its type"
	case interp.InvalidEvent:
		return fmt.Sprintf("field %s of %s is missing or not valid: it is %s", r.Field, r.Event, wants(r.Field))
	case interp.Corrupt:
		return "the record is in no declared state"
	case interp.Ambiguous:
		return fmt.Sprintf("two rows of one priority take %s in %s", r.Event, in)
	}
	panic(ir.NoForm("simulate.because", r.Reason))
}

// wants says what a field accepts.
func wants(f *ir.Field) string {
	s := f.Type.String()
	if f.Min != nil {
		s += fmt.Sprintf(", at least %d", *f.Min)
	}
	if f.Max != nil {
		s += fmt.Sprintf(", at most %d", *f.Max)
	}
	return s
}

func clause(c interp.FailedClause) string {
	return fmt.Sprintf("%s is false in row %s: %s %s %s", c.Clause.Text, c.Row, show(c.Left), c.Clause.Op, show(c.Right))
}

// verdicts lists events: the legal ones with what they need, then the others
// with the reason. After a refusal only the legal ones matter.
func (t *text) verdicts(r Reply) {
	if len(r.verdicts) == 0 {
		if r.Err != nil && len(r.outcomes) > 0 && t.session != nil {
			t.line("  legal now: nothing")
		}
		return
	}
	if r.Err != nil {
		var names []string
		for _, v := range r.verdicts {
			names = append(names, v.Event.Text)
		}
		t.line("  legal now: %s", strings.Join(names, ", "))
		return
	}
	var legal, refused [][]string
	var unknown []string
	for _, v := range r.verdicts {
		switch {
		case v.Legal:
			legal = append(legal, []string{"  " + v.Event.Text, strings.Join(roles(v.by), ", "), fields(v.Event), needs(v)})
		case v.Why.Reason == interp.InvalidTransition:
			unknown = append(unknown, v.Event.Text)
		default:
			refused = append(refused, []string{"  " + v.Event.Text, string(v.Why.Reason), because(v.Why)})
			for _, c := range v.Why.Clauses {
				refused = append(refused, []string{"", "", clause(c)})
			}
		}
	}
	where := t.session.where()
	t.table("legal in "+where, legal)
	t.table("refused in "+where, refused)
	if len(unknown) > 0 {
		t.line("%s", t.paint(bold, "no row in "+where))
		t.line("  %s", strings.Join(unknown, ", "))
	}
	if len(unknown) == 1 && len(r.verdicts) == 1 {
		t.line("  rows take it in %s", strings.Join(t.session.takenIn(r.verdicts[0].Event), ", "))
	}
}

// takenIn lists the states with a row on ev.
func (s *Session) takenIn(ev *ir.Event) []string {
	var out []string
	for _, row := range s.machine.Rows {
		if from := stateName(row.From); row.Event == ev && !slices.Contains(out, from) {
			out = append(out, from)
		}
	}
	return out
}

func (t *text) table(title string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	t.line("%s", t.paint(bold, title))
	for _, l := range align(rows) {
		t.line("%s", l)
	}
}

// where names the state of the record.
func (s *Session) where() string {
	if s.record == nil {
		return "none (no record yet)"
	}
	return s.record.State.Text
}

// fields lists what an event carries.
func fields(ev *ir.Event) string {
	var parts []string
	for _, f := range interp.Payload(ev) {
		parts = append(parts, f.Text+"="+f.Type.String())
	}
	return strings.Join(parts, " ")
}

func needs(v verdict) string {
	var parts []string
	for _, c := range v.Needs {
		parts = append(parts, c.Text)
	}
	if len(parts) == 0 {
		return ""
	}
	return "if " + strings.Join(parts, ", ")
}

// record shows everything about the record.
func (t *text) record() {
	s := t.session
	if s.record == nil {
		t.line("%s has no record yet; it is %s", s.machine, show(s.now))
		return
	}
	rows := [][]string{
		{s.machine.ID.Text, show(s.record.ID)},
		{"state", t.paint(bold, s.record.State.Text)},
		{"version", fmt.Sprint(s.record.Version)},
	}
	for _, f := range s.machine.Fields {
		rows = append(rows, []string{f.Text, show(s.record.Get(f))})
	}
	rows = append(rows, []string{"(now)", show(s.now)})
	if s.timer != nil {
		rows = append(rows, []string{"(deadline)", fmt.Sprintf("%s at %s, in %s", s.timer.fire.Event, show(s.timer.at), s.timer.at.Sub(s.now).Round(time.Microsecond))})
	}
	for _, l := range align(rows) {
		t.line("%s", l)
	}
}

func (t *text) history(entries []entry) {
	var rows [][]string
	for _, e := range entries {
		rows = append(rows, []string{fmt.Sprint(e.step.After.Version), show(e.at), e.step.Row.Event.Text, e.step.Row.Text, edge(e.step), strings.TrimPrefix(by(e.actor), ", ")})
	}
	for _, l := range align(rows) {
		t.line("%s", l)
	}
}

func stateName(s *ir.State) string {
	if s == nil {
		return "none"
	}
	return s.Text
}

// maxColumn is the widest a column may make the columns behind it.
const maxColumn = 48

// align pads the cells of each column but the last.
func align(rows [][]string) []string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			if n := utf8.RuneCountInString(cell); n <= maxColumn {
				widths[i] = max(widths[i], n)
			}
		}
	}
	var out []string
	for _, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			b.WriteString(cell)
			if i < len(row)-1 && (widths[i] > 0 || cell != "") {
				b.WriteString(strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(cell))+2))
			}
		}
		out = append(out, strings.TrimRight(b.String(), " "))
	}
	return out
}
