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
	p, field, problem := decode[P](data, required)
	if problem != "" {
		return *new(P), &Rejection{Machine: machine, Reason: ErrInvalidEvent, Event: event, Field: field, Problem: problem}
	}
	return p, nil
}

// decode reads the JSON payload of an event or an effect, or says what is wrong with
// which field; "": nothing.
func decode[P any](data []byte, required []string) (p P, field, problem string) {
	if len(required) == 0 && string(data) == "{}" {
		return p, "", ""
	}
	reject := func(field, problem string) (P, string, string) { return *new(P), field, problem }
	if err := checkText(data); err != nil {
		return reject("payload", err.Error())
	}
	var present map[string]json.RawMessage
	if err := json.Unmarshal(data, &present); err != nil || present == nil { // null leaves it nil
		return reject("payload", "is no JSON object")
	}
	for _, name := range required {
		if raw, ok := present[name]; !ok || bytes.Equal(raw, []byte("null")) {
			return reject(name, "is required")
		}
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil {
		return reject(fieldOf(err, present), "is not valid: "+err.Error())
	}
	return p, "", ""
}

// fieldOf names the field that a decoding error speaks of.
func fieldOf(err error, present map[string]json.RawMessage) string {
	var wrongType *json.UnmarshalTypeError
	if errors.As(err, &wrongType) && wrongType.Field != "" {
		return wrongType.Field
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
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
