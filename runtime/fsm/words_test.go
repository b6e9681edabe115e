package fsm_test

import (
	"testing"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

type reason uint8

var reasons = fsm.Words[reason]{Machine: "upload", Type: "Reason", Noun: "abort_reason", Not: "is not an abort_reason", List: []string{"expired", "refused"}}

// TestWordsTellWhatIsNone: what is no word of a type is told in the words of the spec.
func TestWordsTellWhatIsNone(t *testing.T) {
	for name, tt := range map[string]struct {
		try  func() error
		want string
	}{
		"parse":          {func() error { _, err := reasons.Parse("x"); return err }, `upload: "x" is not an abort_reason`},
		"unmarshal":      {func() error { return reasons.UnmarshalText([]byte(""), new(reason)) }, `upload: "" is not an abort_reason`},
		"scan text":      {func() error { return reasons.Scan("Expired", new(reason)) }, `upload: "Expired" is not an abort_reason`},
		"scan bytes":     {func() error { return reasons.Scan([]byte("gone"), new(reason)) }, `upload: "gone" is not an abort_reason`},
		"marshal zero":   {func() error { _, err := reasons.MarshalText(0); return err }, "upload: 0 is not an abort_reason"},
		"store too much": {func() error { _, err := reasons.Value(3); return err }, "upload: 3 is not an abort_reason"},
	} {
		if err := tt.try(); err == nil || err.Error() != tt.want {
			t.Errorf("%s: got %v, want %s", name, err, tt.want)
		}
	}
	states := fsm.Words[reason]{Machine: "upload", Noun: "state", Not: "is not a state"}
	if _, err := states.Parse("gone"); err == nil || err.Error() != `upload: "gone" is not a state` {
		t.Errorf("got %v", err)
	}
	for i, word := range reasons.List {
		v, err := reasons.Parse(word)
		if err != nil || v != reason(i+1) || reasons.String(v) != word {
			t.Errorf("%s is %d, %v", word, v, err)
		}
	}
}

// TestMisreadPayload: what encoding/json refuses is told without the types of Go.
func TestMisreadPayload(t *testing.T) {
	type payload struct {
		Amount int64    `json:"amount"`
		Note   string   `json:"note"`
		Parts  []string `json:"parts"`
	}
	for data, want := range map[string]string{
		`{"amount":"five"}`:      "m: pay: invalid event: amount can't be a text",
		`{"amount":1.5}`:         "m: pay: invalid event: amount can't be the number 1.5",
		`{"amount":1,"note":2}`:  "m: pay: invalid event: note can't be a number",
		`{"parts":true}`:         "m: pay: invalid event: parts can't be true or false",
		`{"note":["a"]}`:         "m: pay: invalid event: note can't be a list",
		`{"note":{"a":1}}`:       "m: pay: invalid event: note can't be an object",
		`{"amount":1,"price":2}`: "m: pay: invalid event: price is not declared",
	} {
		if _, err := fsm.Decode[payload]("m", "pay", []byte(data)); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", data, err, want)
		}
	}
}
