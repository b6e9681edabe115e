package fsm_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// mood stands for a generated enum.
type mood uint8

func (m mood) String() string               { return [...]string{"", "calm", "wild"}[m] }
func (m mood) MarshalText() ([]byte, error) { return []byte(m.String()), nil }
func (m *mood) Scan(src any) error {
	for i := range mood(3) {
		if i.String() == src {
			*m = i
			return nil
		}
	}
	return fmt.Errorf("no mood %v", src)
}
func (m *mood) UnmarshalText(text []byte) error { return m.Scan(string(text)) }

func TestIntoTakesWhatDriversGive(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678000, time.UTC)
	u := fsm.UUID{1, 2, 3}
	for _, tt := range []struct{ src, want any }{
		{"text", "text"}, {[]byte("text"), "text"},
		{int64(7), int64(7)}, {"7", int64(7)}, {int64(7), time.Duration(7)},
		{true, true}, {int64(1), true}, {int64(0), false}, {"t", true},
		{at, at}, {at.Format(fsm.TimeLayout), at}, {"2026-01-02 03:04:05.000678+00", at},
		{u.String(), u}, {`{"a": 1}`, fsm.JSON(`{"a":1}`)}, {"wild", mood(2)},
		{`["a","b"]`, []string{"a", "b"}}, {`{a,"b c"}`, []string{"a", "b c"}}, {"{}", []string{}}, {`{"NULL"}`, []string{"NULL"}},
		{"{1,2}", []int64{1, 2}}, {"[1,2]", []int64{1, 2}}, {"{calm,wild}", []mood{1, 2}}, {`["wild"]`, []mood{2}},
		{"{t,f}", []bool{true, false}}, {[]string{"x"}, []string{"x"}},
		{nil, fsm.None[string]()}, {"x", fsm.Some("x")}, {int64(1), fsm.Some(true)}, {"{calm}", fsm.Some([]mood{1})},
		{"calm", fsm.Some(mood(1))}, {at.Format(fsm.TimeLayout), fsm.Some(at)},
	} {
		dest := reflect.New(reflect.TypeOf(tt.want))
		if err := fsm.Into(dest.Interface()).Scan(tt.src); err != nil || !reflect.DeepEqual(dest.Elem().Interface(), tt.want) {
			t.Errorf("%T(%v) into %T gives %v, %v", tt.src, tt.src, tt.want, dest.Elem(), err)
		}
	}
	for _, tt := range []struct{ src, dest any }{
		{nil, new(string)}, {7, new(string)}, {"x", new(int64)}, {int64(2), new(bool)}, {"yesterday", new(time.Time)},
		{"{a", new([]string)}, {`{"a`, new([]string)}, {"{NULL}", new([]string)}, {"sad", new(mood)}, {1.5, new(time.Time)},
	} {
		if err := fsm.Into(tt.dest).Scan(tt.src); err == nil {
			t.Errorf("%T(%v) was taken into %T", tt.src, tt.src, tt.dest)
		}
	}
}

func TestPlainIsWhatIntoReads(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678000, time.UTC)
	for _, tt := range []struct{ v, want any }{
		{"a", "a"}, {int64(1), int64(1)}, {true, true}, {at, at}, {time.Second, int64(1e9)},
		{fsm.UUID{}, "00000000-0000-0000-0000-000000000000"}, {fsm.JSON("{}"), "{}"},
		{fsm.None[int64](), nil}, {fsm.Some(int64(2)), int64(2)}, {fsm.Some(fsm.JSON("[]")), "[]"},
		{[]string{"a"}, []string{"a"}}, {[]mood{1, 2}, []string{"calm", "wild"}}, {fsm.Some([]mood{2}), []string{"wild"}},
		{[]time.Time{at}, []string{at.Format(fsm.TimeLayout)}}, {[]bool{true}, []bool{true}}, {[]bool(nil), []bool{}},
		{[]time.Duration{time.Second}, []int64{1e9}}, {[]fsm.UUID{{}}, []string{"00000000-0000-0000-0000-000000000000"}},
	} {
		if got := fsm.Plain(tt.v); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("Plain(%v) = %v (%T), want %v", tt.v, got, got, tt.want)
		}
	}
	if v, err := fsm.Some([]mood{2}).Value(); err != nil || v != `["wild"]` {
		t.Errorf("a list as driver.Value is %v, %v", v, err)
	}
	if fsm.Text(fsm.None[int64]()) != "" || fsm.Text(fsm.Some(int64(3))) != "3" || fsm.Text(mood(1)) != "calm" {
		t.Error("Text is wrong")
	}
}

func TestDecode(t *testing.T) {
	type payload struct {
		A string              `json:"a"`
		B fsm.Optional[int64] `json:"b,omitzero"`
	}
	got, err := fsm.Decode[payload]("m", "e", []byte(`{"a":"x"}`), "a")
	if err != nil || got != (payload{A: "x"}) {
		t.Errorf("got %+v, %v", got, err)
	}
	for data, field := range map[string]string{
		`{}`: "a", `{"a":"x","c":1}`: "c", `{"a":1}`: "a", `[]`: "payload", `{"a":"x"} x`: "payload", `{"a":"x"`: "payload",
		`{"a":"x","A":"y"}`: "A", `{"a":"x","B":1}`: "B", `{"a":"x","b":1,"b":1}`: "payload", `{"a":null,"a":"x"}`: "payload",
	} {
		_, err := fsm.Decode[payload]("m", "e", []byte(data), "a")
		var x *fsm.Rejection
		if !errors.As(err, &x) || x.Field != field || x.Reason != fsm.ErrInvalidEvent {
			t.Errorf("%s gives %v, want a complaint about %s", data, err, field)
		}
	}
	for _, data := range []string{`{"a":"\"a\":{\\","b":2}`, `{ "a" : "x:y[" , "b" : null }`} {
		if _, err := fsm.Decode[payload]("m", "e", []byte(data), "a"); err != nil {
			t.Errorf("%s gives %v", data, err)
		}
	}
	if _, err := json.Marshal(got); err != nil {
		t.Error(err)
	}
}
