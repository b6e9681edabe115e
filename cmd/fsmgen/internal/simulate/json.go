package simulate

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/fsmgen/fsmgen/gen/interp"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// The JSON form of a reply: one line for each command.
type (
	replyJSON struct {
		Command  string          `json:"command"`
		OK       bool            `json:"ok"`
		Error    string          `json:"error,omitempty"`
		Now      time.Time       `json:"now"`
		State    *string         `json:"state"`
		Outcomes []outcomeJSON   `json:"outcomes,omitempty"`
		Events   []verdictJSON   `json:"events,omitempty"`
		History  []stepJSON      `json:"history,omitempty"`
		Record   json.RawMessage `json:"record,omitempty"`
		Deadline *deadlineJSON   `json:"deadline,omitempty"`
		Notes    []string        `json:"notes,omitempty"`
	}
	outcomeJSON struct {
		Event     string         `json:"event"`
		Actor     string         `json:"actor,omitempty"`
		At        time.Time      `json:"at"`
		Deadline  bool           `json:"deadline,omitempty"` // the clock fired it
		Steps     []stepJSON     `json:"steps,omitempty"`
		Rejection *rejectionJSON `json:"rejection,omitempty"`
	}
	stepJSON struct {
		Transition string            `json:"transition"`
		From       *string           `json:"from"`
		On         string            `json:"on"`
		To         string            `json:"to"`
		Version    int64             `json:"version"`
		Effects    []json.RawMessage `json:"effects"`
	}
	rejectionJSON struct {
		Reason  string       `json:"reason"`
		Message string       `json:"message"`
		Field   string       `json:"field,omitempty"`
		Class   string       `json:"class,omitempty"`
		Clauses []clauseJSON `json:"clauses,omitempty"`
	}
	clauseJSON struct {
		Transition string          `json:"transition"`
		Clause     string          `json:"clause"`
		Left       json.RawMessage `json:"left"`
		Right      json.RawMessage `json:"right"`
	}
	verdictJSON struct {
		Event string         `json:"event"`
		Legal bool           `json:"legal"`
		By    []string       `json:"by,omitempty"`
		Needs []string       `json:"needs,omitempty"`
		Why   *rejectionJSON `json:"why,omitempty"`
	}
	deadlineJSON struct {
		Event string    `json:"event"`
		At    time.Time `json:"at"`
	}
)

// JSON renders the reply as one line.
func (r Reply) JSON() ([]byte, error) {
	s := r.session
	out := replyJSON{Command: r.Command, OK: r.Err == nil, Now: s.now, Notes: r.notes}
	if r.Err != nil {
		out.Error = r.Err.Error()
	}
	if s.record != nil {
		out.State = &s.record.State.Text
		out.Record = interp.MarshalRecord(s.machine, s.record)
	}
	if s.timer != nil {
		out.Deadline = &deadlineJSON{s.timer.fire.Event.Text, s.timer.at}
	}
	for _, o := range r.outcomes {
		out.Outcomes = append(out.Outcomes, outcomeOf(o))
	}
	for _, v := range r.verdicts {
		out.Events = append(out.Events, verdictOf(v))
	}
	for _, e := range r.rows {
		out.History = append(out.History, stepOf(e.step))
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // guards are full of < and >
	err := enc.Encode(out)
	return b.Bytes(), err
}

func outcomeOf(o outcome) outcomeJSON {
	out := outcomeJSON{Event: o.event.Text, At: o.at, Deadline: o.deadline, Rejection: rejectionOf(o.rejection)}
	if o.actor.Role != nil {
		out.Actor = showActor(o.actor)
	}
	for _, step := range o.result.Steps {
		out.Steps = append(out.Steps, stepOf(step))
	}
	return out
}

func stepOf(step interp.Step) stepJSON {
	out := stepJSON{
		Transition: step.Row.Text, On: step.Row.Event.Text, To: step.After.State.Text,
		Version: step.After.Version, Effects: []json.RawMessage{},
	}
	if step.Before.State != nil {
		out.From = &step.Before.State.Text
	}
	for _, e := range step.Effects {
		out.Effects = append(out.Effects, interp.MarshalEffect(e))
	}
	return out
}

func rejectionOf(r *interp.Rejection) *rejectionJSON {
	if r == nil {
		return nil
	}
	out := &rejectionJSON{Reason: string(r.Reason), Message: because(r)}
	if r.Field != nil {
		out.Field = r.Field.Text
	}
	if r.Failure != nil {
		out.Class = r.Failure.Text
	}
	for _, c := range r.Clauses {
		out.Clauses = append(out.Clauses, clauseJSON{
			c.Row.Text, c.Clause.Text, seen(c.Clause.Left.Type, c.Left), seen(c.Clause.Right.Type, c.Right),
		})
	}
	return out
}

func seen(t ir.Type, v ir.Value) json.RawMessage { return interp.MarshalValue(t, v) }

func verdictOf(v verdict) verdictJSON {
	out := verdictJSON{Event: v.Event.Text, Legal: v.Legal, By: roles(v.by), Why: rejectionOf(v.Why)}
	for _, c := range v.Needs {
		out.Needs = append(out.Needs, c.Text)
	}
	return out
}
