package fsm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// Decode reads the JSON payload of an event. Every name in required must be
// present and not null. Refused are unknown names, names that differ from a
// declared one by case, names that come twice, invalid UTF-8 and NUL characters.
// The error is a [Rejection] with [ErrInvalidEvent].
func Decode[P any](machine, event string, data []byte, required ...string) (P, error) {
	p, wrong := decode[P](data, required)
	if wrong != nil {
		return p, wrong.rejection(machine, event)
	}
	return p, nil
}

// Decoders read the events of a machine by name, into its payloads P. They are never written.
type Decoders[P any] map[string]Decoder[P]

// Decoder tells how the payload of one event is read.
type Decoder[P any] struct {
	Into     P        // the struct of the payload, without values
	Required []string // the fields that must be there
}

// Decode reads the JSON payload of an event: see the function Decode.
func (d Decoders[P]) Decode(machine, event string, data []byte) (p P, err error) {
	decoder, ok := d[event]
	if !ok {
		return p, (&flaw{field: "event", problem: "is not declared"}).rejection(machine, event)
	}
	into := reflect.New(reflect.TypeOf(decoder.Into))
	if wrong := decodeInto(into.Interface(), data, decoder.Required); wrong != nil {
		return p, wrong.rejection(machine, event)
	}
	p, _ = into.Elem().Interface().(P)
	return p, nil
}

// flaw is what is wrong with a payload.
type flaw struct {
	field, problem string
	foreign        bool // it has other fields than are declared
}

func (f *flaw) rejection(machine, event string) *Rejection {
	return &Rejection{Machine: machine, Reason: ErrInvalidEvent, Event: event, Field: f.field, Problem: f.problem}
}

// decode reads the JSON payload of an event or an effect.
func decode[P any](data []byte, required []string) (P, *flaw) {
	var p P
	if wrong := decodeInto(&p, data, required); wrong != nil {
		return *new(P), wrong
	}
	return p, nil
}

// decodeInto is decode into the struct that into points to. It is not generic: the compiler makes
// a function of its own from decode for each payload.
func decodeInto(into any, data []byte, required []string) *flaw {
	if len(required) == 0 && string(data) == "{}" {
		return nil
	}
	if err := checkText(data); err != nil {
		return &flaw{field: "payload", problem: err.Error()}
	}
	var present map[string]json.RawMessage
	if err := json.Unmarshal(data, &present); err != nil || present == nil { // null leaves it nil
		return &flaw{field: "payload", problem: "is not a JSON object"}
	}
	if members(data) != len(present) {
		return &flaw{field: "payload", problem: "has a name twice"}
	}
	if name, declared := otherCase(reflect.TypeOf(into).Elem(), present); name != "" {
		return &flaw{name, "is not declared: it is spelled " + declared, true}
	}
	for _, name := range required {
		if raw, ok := present[name]; !ok || bytes.Equal(raw, []byte("null")) {
			return &flaw{name, "is required", true}
		}
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		field, problem := misread(err, present)
		return &flaw{field, problem, strings.HasPrefix(err.Error(), unknownField)}
	}
	return nil
}

// members counts the members of a JSON object: each has one colon outside of texts and
// of other values.
func members(object []byte) (n int) {
	depth, inText := 0, false
	for i := 0; i < len(object); i++ {
		switch c := object[i]; {
		case inText && c == '\\':
			i++ // what follows is part of the text
		case c == '"':
			inText = !inText
		case inText:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		case c == ':' && depth == 1:
			n++
		}
	}
	return n
}

// otherCase returns a name that encoding/json would take for a declared one of payload
// though it is spelled otherwise; "" for none.
func otherCase(payload reflect.Type, present map[string]json.RawMessage) (name, declared string) {
	for f := range payload.Fields() {
		declared, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		for name := range present {
			if name != declared && strings.EqualFold(name, declared) {
				return name, declared
			}
		}
	}
	return "", ""
}

// unknownField begins the error of encoding/json about a name that is not declared.
const unknownField = "json: unknown field "

// misread returns the field that an error of encoding/json is about, and what is wrong with it,
// without the types of Go that encoding/json names.
func misread(err error, present map[string]json.RawMessage) (field, problem string) {
	if name, ok := strings.CutPrefix(err.Error(), unknownField); ok {
		return strings.Trim(name, `"`), "is not declared"
	}
	field = "payload"
	if len(present) == 1 {
		for name := range present {
			field = name
		}
	}
	var wrongType *json.UnmarshalTypeError
	if !errors.As(err, &wrongType) {
		return field, "is not valid: " + err.Error()
	}
	if wrongType.Field != "" {
		field = wrongType.Field
	}
	kind, value, _ := strings.Cut(wrongType.Value, " ") // number 1.5
	if value != "" {
		return field, "can't be the number " + value
	}
	return field, "can't be " + map[string]string{
		"string": "a text", "number": "a number", "bool": "true or false", "array": "a list", "object": "an object",
	}[kind]
}

// checkText refuses what the databases can't store: text that is not UTF-8,
// and strings with a NUL.
func checkText(data []byte) error {
	if !utf8.Valid(data) {
		return errors.New("is not UTF-8")
	}
	if !bytes.Contains(data, []byte(`\u0000`)) {
		return nil
	}
	for dec := json.NewDecoder(bytes.NewReader(data)); ; {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("is not valid JSON: %w", err)
		}
		if s, ok := tok.(string); ok && slices.Contains([]byte(s), 0) {
			return errors.New("contains a NUL character")
		}
	}
}
