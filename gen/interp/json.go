package interp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// MarshalRecord writes a record as the generated package does: the id, the
// state, and every field that is not derived, absent ones as null.
func MarshalRecord(m *ir.Machine, r *Record) []byte {
	state := json.RawMessage("null")
	if r.State != nil {
		state = mustJSON(r.State.Text)
	}
	members := []member{{m.ID.Text, MarshalValue(m.ID.Type, r.ID)}, {"state", state}}
	for _, f := range m.Fields {
		if f.Derive == nil {
			members = append(members, member{f.Text, MarshalValue(f.Type, r.Values[f.Index])})
		}
	}
	return object(members)
}

// UnmarshalRecord reads what MarshalRecord writes. A member that is missing
// is absent, or has its default; a state that is not declared is an error.
func UnmarshalRecord(m *ir.Machine, data []byte) (*Record, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, fmt.Errorf("record of %s: %w", m, err)
	}
	id, err := UnmarshalValue(m.ID.Type, members[m.ID.Text])
	if err != nil {
		return nil, fmt.Errorf("record of %s: %s: %w", m, m.ID, err)
	}
	r := Blank(m, id)
	var state string
	if err := json.Unmarshal(members["state"], &state); err != nil {
		return nil, fmt.Errorf("record of %s: state: %w", m, err)
	}
	for _, s := range m.States {
		if s.Text == state {
			r.State = s
		}
	}
	if r.State == nil {
		return nil, fmt.Errorf("record of %s: state %q is not declared", m, state)
	}
	for _, f := range m.Fields {
		raw, ok := members[f.Text]
		if !ok || f.Derive != nil {
			continue
		}
		if r.Values[f.Index], err = UnmarshalValue(f.Type, raw); err != nil {
			return nil, fmt.Errorf("record of %s: %s: %w", m, f, err)
		}
	}
	r.Derive(m)
	return r, nil
}

// MarshalPayload writes the payload of ev as a JSON object.
func MarshalPayload(ev *ir.Event, args []ir.Value) []byte {
	var members []member
	for i, f := range Payload(ev) {
		var v ir.Value
		if i < len(args) {
			v = args[i]
		}
		members = append(members, member{f.Text, MarshalValue(f.Type, v)})
	}
	return object(members)
}

// UnmarshalPayload reads what MarshalPayload writes.
func UnmarshalPayload(ev *ir.Event, data []byte) ([]ir.Value, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, fmt.Errorf("payload of %s: %w", ev, err)
	}
	payload := Payload(ev)
	args := make([]ir.Value, len(payload))
	for i, f := range payload {
		var err error
		if args[i], err = UnmarshalValue(f.Type, members[f.Text]); err != nil {
			return nil, fmt.Errorf("payload of %s: %s: %w", ev, f, err)
		}
	}
	return args, nil
}

// MarshalEffect writes an effect as {"name": …, "kind": …, "payload": {…}}.
// The payload of an effect that carries nothing is null, that of a metric is
// {"value": 1, "labels": [{"name": …, "value": text}]}; an absent label is
// the empty text.
func MarshalEffect(e Effect) []byte {
	payload := json.RawMessage("null")
	var members []member
	for _, v := range e.Values {
		members = append(members, member{v.Name, MarshalValue(v.Type, v.Value)})
	}
	switch {
	case e.Metric != nil:
		payload = labels(e)
	case len(members) > 0:
		payload = object(members)
	}
	return object([]member{{"name", mustJSON(e.Name())}, {"kind", mustJSON(kindOf(e))}, {"payload", payload}})
}

func labels(e Effect) json.RawMessage {
	members := []member{{"value", mustJSON(measured(e))}}
	type label struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	var list []label
	for _, v := range e.Values {
		list = append(list, label{v.Name, text(v.Type, v.Value)})
	}
	if list != nil {
		members = append(members, member{"labels", mustJSON(list)})
	}
	return object(members)
}

// measured is the value of a metric as observers take it, a float64: whole
// numbers beyond 2^53 are rounded to the nearest. An absent value is 0, and a
// metric that names none counts 1.
func measured(e Effect) float64 {
	if e.Metric.Value == nil {
		return 1
	}
	n, _ := e.Value.(int64)
	return float64(n)
}

func kindOf(e Effect) string {
	if e.Metric != nil {
		return "metric"
	}
	return e.Effect.Kind.String()
}

// MarshalValue writes a value of type t; absent is null, a duration is its
// nanoseconds, a json value is itself.
func MarshalValue(t ir.Type, v ir.Value) json.RawMessage { return mustJSON(plain(t, v)) }

// UnmarshalValue reads a value of type t; null or nothing is absent.
func UnmarshalValue(t ir.Type, raw json.RawMessage) (ir.Value, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	switch t.Base {
	case ir.Bool:
		return decode[bool](raw)
	case ir.Int:
		return decode[int64](raw)
	case ir.Duration:
		return decode[time.Duration](raw)
	case ir.Time:
		at, err := decode[time.Time](raw)
		if err != nil {
			return nil, err
		}
		return microseconds(at.(time.Time)), nil
	case ir.JSON:
		var b bytes.Buffer
		err := json.Compact(&b, raw)
		return b.String(), err
	case ir.ListOf:
		return decodeList(*t.Elem, raw)
	case ir.String, ir.UUID, ir.EnumOf:
		return decodeText(raw)
	}
	return nil, ir.NoForm("interp.UnmarshalValue", t.Base)
}

func decodeText(raw json.RawMessage) (ir.Value, error) {
	s, err := decode[string](raw)
	if err != nil {
		return nil, err
	}
	if text := s.(string); !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return nil, fmt.Errorf("text %q is not UTF-8 without NUL", text)
	}
	return s, nil
}

func decode[T any](raw json.RawMessage) (ir.Value, error) {
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, err
	}
	return v, nil
}

func decodeList(elem ir.Type, raw json.RawMessage) (ir.Value, error) {
	var parts []json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return nil, err
	}
	list := make([]any, len(parts))
	for i, p := range parts {
		v, err := UnmarshalValue(elem, p)
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
		list[i] = v
	}
	return list, nil
}

// plain is v as encoding/json writes it.
func plain(t ir.Type, v ir.Value) any {
	if v == nil {
		return nil
	}
	switch t.Base {
	case ir.JSON:
		return json.RawMessage(v.(string))
	case ir.Duration:
		return int64(v.(time.Duration))
	case ir.ListOf:
		list := v.([]any)
		out := make([]any, len(list))
		for i := range list {
			out[i] = plain(*t.Elem, list[i])
		}
		return out
	case ir.String, ir.Int, ir.Bool, ir.Time, ir.UUID, ir.EnumOf:
		return v
	}
	panic(ir.NoForm("interp.plain", t.Base))
}

type member struct {
	name  string
	value json.RawMessage
}

// object keeps the order of its members.
func object(members []member) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(mustJSON(m.name))
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// mustJSON encodes without escaping HTML. The values of a machine are
// strings, numbers, bools, times and lists of them, which always encode.
func mustJSON(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return json.RawMessage("null")
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
