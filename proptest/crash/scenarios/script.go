package scenarios

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/fsmgen/fsmgen/gen/interp"
	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Script is a scenario in the form that a process runs.
type Script struct {
	Epoch   time.Time        `json:"epoch"`             // when it begins
	Longest time.Duration    `json:"longest,omitempty"` // that a handler takes
	Steps   []Step           `json:"steps"`
	Replies map[string]Reply `json:"replies,omitempty"` // by Asked.String
}

// Step is one action. After it, every due task is done, and failed attempts are repeated.
type Step struct {
	Machine string        `json:"machine,omitempty"`
	Record  string        `json:"record,omitempty"` // "": the one that another machine started
	Create  bool          `json:"create,omitempty"`
	Event   *fsm.Event    `json:"event,omitempty"`
	By      fsm.Caller    `json:"by,omitzero"`
	Wait    time.Duration `json:"wait,omitempty"`   // let time pass
	Repair  bool          `json:"repair,omitempty"` // repairs what makes stuck replies fail, and requeues the dead letters
}

// Reply is what a handler does with one message. Without a Reply it succeeds and answers
// nothing.
type Reply struct {
	Answer    *fsm.Event    `json:"answer,omitempty"`
	Fails     int           `json:"fails,omitempty"`     // so many attempts fail first
	Stuck     bool          `json:"stuck,omitempty"`     // every attempt fails until it is repaired
	Broken    bool          `json:"broken,omitempty"`    // every attempt fails, for ever
	Meanwhile time.Duration `json:"meanwhile,omitempty"` // takes so long, and a worker with nothing else to do goes on
}

// String is machine.effect of the step with this version.
func (a Asked) String() string { return fmt.Sprintf("%s.%s of %d", a.Machine, a.Effect, a.Version) }

// Span returns a time that is longer than any of the scenarios takes, with all repeats
// after a crash. The deadlines that one scenario leaves are not due in another that
// begins earlier by this time.
func (c *Group) Span(list []Scenario) time.Duration {
	span := 48 * time.Hour
	for _, m := range c.machines {
		for _, e := range m.Effects {
			span += 2 * pauses(e.Retry)
		}
	}
	longest := time.Duration(0)
	for _, s := range list {
		took := time.Duration(0)
		for _, st := range s.steps {
			took += st.wait
		}
		for _, r := range s.replies {
			took += 3 * r.meanwhile // the lease is as long, and a crash outlasts it
		}
		longest = max(longest, took)
	}
	return span + longest
}

// pauses returns how long all repeats of a failure class take at most.
func pauses(class *ir.Failure) time.Duration {
	if class == nil || class.Retry == nil {
		return 0
	}
	longest, err := time.ParseDuration(class.Retry.Max)
	if err != nil {
		longest, _ = time.ParseDuration(class.Retry.First) // without a maximum the first one grows
		for range class.Retry.Attempts {
			longest = time.Duration(float64(longest) * max(class.Retry.Factor, 1))
		}
	}
	return time.Duration(class.Retry.Attempts) * longest
}

// earliest is when a script may begin: a duration leads there from the epoch.
var earliest = epoch.AddDate(-250, 0, 0)

// Script makes a script of a scenario. Values that must be unique in a database differ
// for every tag, and times move with at.
func (c *Group) Script(s Scenario, tag string, at time.Time) (Script, error) {
	if at.Before(earliest) {
		return Script{}, fmt.Errorf("a scenario would begin in the year %d", at.Year())
	}
	w := writer{c, tag, at.Sub(epoch)}
	script := Script{Epoch: at, Replies: map[string]Reply{}}
	for _, st := range s.steps {
		out := Step{Wait: st.wait, Repair: st.repair}
		if st.in.Event != nil {
			m := c.machines[st.machine]
			event := w.event(st.in)
			out.Machine, out.Create, out.Event, out.By = m.Text, st.create, &event, w.caller(st.in.Actor)
			if !c.Started(m) {
				out.Record = w.record(m)
			}
		}
		script.Steps = append(script.Steps, out)
	}
	for asked, r := range s.replies {
		out := Reply{Fails: r.fails, Stuck: r.stuck, Broken: r.broken, Meanwhile: r.meanwhile}
		if r.answer != nil {
			event := w.event(*r.answer)
			out.Answer = &event
		}
		script.Replies[asked.String()] = out
		script.Longest = max(script.Longest, r.meanwhile)
	}
	return script, nil
}

// writer writes the values of one script.
type writer struct {
	group *Group
	tag   string
	shift time.Duration
}

func (w writer) event(in interp.Input) fsm.Event {
	var args []ir.Value
	for i, f := range interp.Payload(in.Event) {
		var v ir.Value
		if i < len(in.Args) {
			v = w.value(f, in.Args[i])
		}
		args = append(args, v)
	}
	return fsm.Event{Name: in.Event.Text, Payload: json.RawMessage(interp.MarshalPayload(in.Event, args))}
}

// value is v with the mark of this script. Equal values stay equal, and what a
// clause knows stays what it is.
func (w writer) value(f *ir.Field, v ir.Value) ir.Value {
	switch v := v.(type) {
	case time.Time:
		if v.Year() > 1900 && v.Year() < 2900 {
			return v.Add(w.shift)
		}
	case int64:
		if w.group.numbers[f.Text] {
			return w.number(f)
		}
	case string:
		switch {
		case f.Type.Base == ir.UUID:
			return w.uuid(v)
		case f.Type.Base == ir.String && !w.group.literals[v] && !w.group.searched[f.Text]:
			return w.text(v)
		}
	}
	return v
}

// text is the same for every field that can hold v: guards compare them.
func (w writer) text(v string) string {
	marked := v + "-" + w.tag
	most, bounded := w.group.room(int64(utf8.RuneCountInString(v)))
	if !bounded || int64(utf8.RuneCountInString(marked)) <= most {
		return marked
	}
	short := hex.EncodeToString(w.hash(v))
	return short[:min(int64(len(short)), most)]
}

func (w writer) hash(v string) []byte {
	sum := sha256.Sum256([]byte(w.tag + "/" + v))
	return sum[:]
}

func (w writer) uuid(v string) string {
	id := fsm.UUID(w.hash(v)[:16])
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80
	return id.String()
}

// record is the id of the record that the script has of a machine.
func (w writer) record(m *ir.Machine) string {
	switch m.ID.Type.Base {
	case ir.UUID:
		return w.uuid(m.Text)
	case ir.Int:
		return strconv.FormatInt(w.number(m.ID), 10)
	case ir.String:
		return w.name(m)
	case ir.Bool, ir.Time, ir.Duration, ir.JSON, ir.ListOf, ir.EnumOf: // identify nothing
	}
	panic(ir.NoForm("scenarios.record", m.ID.Type.Base))
}

func (w writer) name(m *ir.Machine) string {
	name := m.Text
	if most := m.ID.Max; most != nil && int64(len(name)) > *most {
		name = name[:*most]
	}
	return w.text(name)
}

// number is one within the bounds of a field.
func (w writer) number(f *ir.Field) int64 {
	least, most := int64(1), int64(1)<<48
	if f.Min != nil {
		least = *f.Min
	}
	if f.Max != nil {
		most = *f.Max
	}
	n := int64(0)
	for _, b := range w.hash(f.Text)[:6] {
		n = n<<8 | int64(b)
	}
	return least + n%max(most-least, 1)
}

func (w writer) caller(a interp.Actor) fsm.Caller {
	switch {
	case a.Role == nil || a.Role.System:
		return fsm.System()
	case a.ID == nil:
		return fsm.Caller{Role: a.Role.Text}
	}
	f := a.Role.Is
	if f == nil {
		f = &ir.Field{Type: w.actorType(a)}
	}
	return fsm.Caller{Role: a.Role.Text, ID: fmt.Sprint(w.value(f, a.ID))}
}

// actorType is the type of the ids of callers whose role names no field: that of
// the others.
func (w writer) actorType(a interp.Actor) ir.Type {
	for _, m := range w.group.machines {
		if !slices.Contains(m.Actors, a.Role) {
			continue
		}
		for _, other := range m.Actors {
			if other.Is != nil {
				return other.Is.Type
			}
		}
	}
	return ir.Type{Base: ir.String}
}
