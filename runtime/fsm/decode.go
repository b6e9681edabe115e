package fsm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Decode reads the JSON payload of an event. Every name in required must be
// present and not null; unknown names, invalid UTF-8 and NUL characters are
// refused. The error is a [Rejection] with [ErrInvalidEvent].
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
	var present map[string]json.RawMessage
	if err := json.Unmarshal(data, &present); err != nil || present == nil { // null leaves it nil
		return reject("payload", "is no JSON object")
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
