package fsm_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// ping is a payload; it can't be encoded when it is broken.
type ping struct {
	Text   string `json:"text,omitempty"`
	Broken bool   `json:"-"`
}

func (ping) EventName() string { return "PING" }

func (p ping) MarshalJSON() ([]byte, error) {
	if p.Broken {
		return nil, errors.New("broken")
	}
	type plain ping
	return json.Marshal(plain(p))
}

func TestEventOf(t *testing.T) {
	e, err := fsm.EventOf(ping{})
	if err != nil || e.Name != "PING" || string(e.Payload) != "{}" {
		t.Errorf("empty: %s %s, %v", e.Name, e.Payload, err)
	}
	if a, err := fsm.AnswerOf(ping{Text: "x"}); err != nil || string(a.Payload) != `{"text":"x"}` {
		t.Errorf("answer: %v, %v", a, err)
	}
	if _, err := fsm.EventOf(ping{Broken: true}); err == nil {
		t.Error("a broken payload is encoded")
	}
	if a, err := fsm.AnswerOf(ping{Broken: true}); err == nil || a != nil {
		t.Errorf("a broken answer is %v", a)
	}
	// What the machine itself fires is refused loudly instead of being lost.
	fired := fsm.Fired(ping{Broken: true})
	if _, err := fsm.Decode[ping]("m", fired.Name, fired.Payload); !errors.Is(err, fsm.ErrInvalidEvent) {
		t.Errorf("a broken payload is fired as %s: %v", fired.Payload, err)
	}
}

func TestMessageFitsEveryField(t *testing.T) {
	for _, text := range []string{"", "no disk", "\xff", "a\x00b", strings.Repeat("é", 5000)} {
		for _, limit := range []int{0, 1, 7} {
			got := fsm.Message(text, limit)
			most := limit
			if limit == 0 {
				most = 4096
			}
			if n := utf8.RuneCountInString(got); n == 0 || n > most || !utf8.ValidString(got) || strings.Contains(got, "\x00") {
				t.Errorf("Message(%.10q, %d) = %.10q with %d characters", text, limit, got, n)
			}
		}
	}
	if got := fsm.Message("no disk", 0); got != "no disk" {
		t.Errorf("a good message becomes %q", got)
	}
}

func TestPayloadOf(t *testing.T) {
	type payload struct{ N, Other int }
	for _, tt := range []struct {
		text     string
		required []string
		want     int
		problem  string // "": none
	}{
		{"", nil, 0, ""},
		{"null", nil, 0, ""},
		{`{"N":3}`, []string{"N"}, 3, ""},
		{"", []string{"N"}, 0, "N is required"},
		{`{"Other":3}`, []string{"N"}, 0, "N is required"},
		{`{"N":null}`, []string{"N"}, 0, "N is required"},
		{`{"N":3,"more":1}`, nil, 0, "more is not declared"},
		{`{"N":3} {}`, nil, 0, "payload is not a JSON object"},
		{"[]", nil, 0, "payload is not a JSON object"},
		{`{"N":`, nil, 0, "payload is not a JSON object"},
		{`{"N":"3"}`, nil, 0, "N can't be a text"},
	} {
		p, err := fsm.PayloadOf[payload](fsm.Dispatch{Machine: "m", Record: "r", Effect: "e", Payload: json.RawMessage(tt.text)}, tt.required...)
		var foreign *fsm.PayloadError
		if p.N != tt.want || errors.As(err, &foreign) != (tt.problem != "") {
			t.Errorf("%q: %v, %v", tt.text, p, err)
		}
		if foreign != nil && foreign.Foreign != (strings.HasSuffix(tt.problem, "required") || strings.HasPrefix(tt.problem, "more")) {
			t.Errorf("%q: foreign %t", tt.text, foreign.Foreign)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "payload of effect e of m r: "+tt.problem) {
			t.Errorf("%q: got %v", tt.text, err)
		}
	}
}

func TestStartOf(t *testing.T) {
	s, err := fsm.StartOf("child", "START", struct {
		A string `json:"a"`
	}{"x"})
	if err != nil || s.Machine != "child" || s.Event.Name != "START" || string(s.Event.Payload) != `{"a":"x"}` {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := fsm.StartOf("child", "START", nil); err != nil || string(s.Event.Payload) != "{}" {
		t.Errorf("no payload: %+v, %v", s, err)
	}
	if _, err := fsm.StartOf("child", "START", func() {}); err == nil {
		t.Error("a function is a payload")
	}
}
