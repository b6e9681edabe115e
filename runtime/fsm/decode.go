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
		return p, &Rejection{Machine: machine, Reason: ErrInvalidEvent, Event: event, Field: wrong.field, Problem: wrong.problem}
	}
	return p, nil
}

// flaw is what is wrong with a payload.
type flaw struct {
	field, problem string
	foreign        bool // it has other fields than are declared
}

// decode reads the JSON payload of an event or an effect.
func decode[P any](data []byte, required []string) (p P, wrong *flaw) {
	if len(required) == 0 && string(data) == "{}" {
		return p, nil
	}
	reject := func(field, problem string) (P, *flaw) { return *new(P), &flaw{field: field, problem: problem} }
	if err := checkText(data); err != nil {
		return reject("payload", err.Error())
	}
	present, twice, err := members(data)
	if err != nil {
		return reject("payload", "is no JSON object")
	}
	if twice != "" {
		return reject(twice, "comes twice")
	}
	for name := range present {
		if declared := otherCase[P](name); declared != "" {
			return *new(P), &flaw{name, "is not declared: it is spelled " + declared, true}
		}
	}
	for _, name := range required {
		if raw, ok := present[name]; !ok || bytes.Equal(raw, []byte("null")) {
			return *new(P), &flaw{name, "is required", true}
		}
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil {
		return *new(P), &flaw{fieldOf(err, present), "is not valid: " + err.Error(), strings.HasPrefix(err.Error(), unknownField)}
	}
	return p, nil
}

// members reads the members of a JSON object. twice is a name that comes twice.
func members(data []byte) (present map[string]json.RawMessage, twice string, err error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, "", errors.Join(errors.New("is no object"), err)
	}
	present = map[string]json.RawMessage{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, "", err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, "", err
		}
		text, _ := name.(string) // the names of an object are strings
		if _, ok := present[text]; ok {
			twice = text
		}
		present[text] = value
	}
	if _, err := dec.Token(); err != nil {
		return nil, "", err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, "", errors.New("something follows the object")
	}
	return present, twice, nil
}

// otherCase returns the name of P's that encoding/json would take name for though it
// is spelled otherwise; "" for none.
func otherCase[P any](name string) string {
	for f := range reflect.TypeFor[P]().Fields() {
		declared, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if declared != name && strings.EqualFold(declared, name) {
			return declared
		}
	}
	return ""
}

// unknownField begins the error of encoding/json about a name that is not declared.
const unknownField = "json: unknown field "

// fieldOf names the field that a decoding error speaks of.
func fieldOf(err error, present map[string]json.RawMessage) string {
	var wrongType *json.UnmarshalTypeError
	if errors.As(err, &wrongType) && wrongType.Field != "" {
		return wrongType.Field
	}
	if name, ok := strings.CutPrefix(err.Error(), unknownField); ok {
		return strings.Trim(name, `"`)
	}
	if len(present) == 1 {
		for name := range present {
			return name
		}
	}
	return "payload"
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
			return fmt.Errorf("is no JSON: %w", err)
		}
		if s, ok := tok.(string); ok && slices.Contains([]byte(s), 0) {
			return errors.New("contains a NUL character")
		}
	}
}
