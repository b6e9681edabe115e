package fsm_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

func TestOptionalIsComparable(t *testing.T) {
	one, same := fsm.Some(1), fsm.Some(1)
	if fsm.Some(0) == fsm.None[int]() || one != same {
		t.Error("== does not tell a present zero from an absent value")
	}
	if v, ok := fsm.Some("x").Get(); v != "x" || !ok {
		t.Errorf("Get gives %q, %v", v, ok)
	}
	if fsm.None[int]().Or(7) != 7 || fsm.Some(3).Or(7) != 3 {
		t.Error("Or gives the wrong one")
	}
	if fsm.None[int]().String() != "absent" || fsm.Some(3).String() != "3" {
		t.Error("String gives the wrong text")
	}
}

func TestOptionalJSON(t *testing.T) {
	type record struct {
		A fsm.Optional[int64]    `json:"a,omitzero"`
		B fsm.Optional[string]   `json:"b"`
		C fsm.Optional[fsm.JSON] `json:"c,omitzero"`
	}
	for text, want := range map[string]record{
		`{"b":null}`:                    {},
		`{"a":0,"b":""}`:                {A: fsm.Some(int64(0)), B: fsm.Some("")},
		`{"b":"x","c":{"k":[1,"two"]}}`: {B: fsm.Some("x"), C: fsm.Some(fsm.JSON(`{"k":[1,"two"]}`))},
	} {
		var got record
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s gives %+v, %v", text, got, err)
		}
		if back, err := json.Marshal(want); err != nil || string(back) != text {
			t.Errorf("%+v gives %s, %v, want %s", want, back, err, text)
		}
	}
	if err := json.Unmarshal([]byte(`{"a":"x"}`), new(record)); err == nil {
		t.Error("a text was taken as an int")
	}
}

func TestOptionalText(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	o := fsm.Some(at)
	text, err := o.MarshalText()
	if err != nil || string(text) != "2026-01-02T03:04:05.000006Z" {
		t.Fatalf("got %s, %v", text, err)
	}
	var back fsm.Optional[time.Time]
	if err := back.UnmarshalText(text); err != nil || back != o {
		t.Errorf("got %v, %v", back, err)
	}
	if err := back.UnmarshalText(nil); err != nil || back.IsSet {
		t.Errorf("the empty text gives %v, %v", back, err)
	}
}

func TestUUID(t *testing.T) {
	const text = "01234567-89ab-cdef-0123-456789abcdef"
	u, err := fsm.ParseUUID("01234567-89AB-CDEF-0123-456789ABCDEF")
	if err != nil || u.String() != text {
		t.Fatalf("got %s, %v", u, err)
	}
	if v, err := u.Value(); err != nil || v != text {
		t.Errorf("Value gives %v, %v", v, err)
	}
	for _, src := range []any{text, []byte(text), u[:], [16]byte(u)} {
		var back fsm.UUID
		if err := back.Scan(src); err != nil || back != u {
			t.Errorf("Scan(%T) gives %s, %v", src, back, err)
		}
	}
	for _, bad := range []string{"", text[1:], "0123456789abcdef0123456789abcdef0000", "g" + text[1:]} {
		if _, err := fsm.ParseUUID(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	if err := new(fsm.UUID).Scan(7); err == nil {
		t.Error("an int was taken")
	}
}

func TestJSONIsCompactAndStorable(t *testing.T) {
	j, err := fsm.ParseJSON([]byte(" { \"a\" : [1, 2] } "))
	if err != nil || j != `{"a":[1,2]}` {
		t.Errorf("got %s, %v", j, err)
	}
	for _, bad := range []string{"", "{", `"\u0000"`, "\"\xff\""} {
		if _, err := fsm.ParseJSON([]byte(bad)); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	if _, err := fsm.ParseJSON([]byte(`"\\u0000"`)); err != nil {
		t.Errorf("a backslash before u0000 is no NUL: %v", err)
	}
}

func TestInstantCutsToMicrosecondsUTC(t *testing.T) {
	zone := time.FixedZone("east", 3600)
	for in, want := range map[time.Time]time.Time{
		time.Date(2026, 1, 1, 1, 0, 0, 1999, zone):               time.Date(2026, 1, 1, 0, 0, 0, 1000, time.UTC),
		time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC):                 time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(1969, 12, 31, 23, 59, 59, 999999999, time.UTC): time.Date(1969, 12, 31, 23, 59, 59, 999999000, time.UTC),
	} {
		if got := fsm.Instant(in); got != want || got != in.UTC().Truncate(time.Microsecond) {
			t.Errorf("Instant(%v) = %v, want %v", in, got, want)
		}
	}
	if got := fsm.Instant(time.Now()); got != got.Round(0) {
		t.Error("a monotonic clock reading is left")
	}
}

func TestArithmeticTellsOverflow(t *testing.T) {
	const top, bottom = math.MaxInt64, math.MinInt64
	for _, tt := range []struct {
		a, b     int64
		add, sub bool // fits
	}{
		{1, 2, true, true}, {top, 0, true, true}, {top, 1, false, true}, {bottom, -1, false, true},
		{bottom, 1, true, false}, {0, bottom, true, false}, {-1, bottom, false, true}, {bottom, bottom, false, true}, {top, bottom, true, false},
	} {
		if got, ok := fsm.AddInt(tt.a, tt.b); ok != tt.add || ok && got != tt.a+tt.b {
			t.Errorf("%d + %d = %d, %v", tt.a, tt.b, got, ok)
		}
		if got, ok := fsm.SubInt(tt.a, tt.b); ok != tt.sub || ok && got != tt.a-tt.b {
			t.Errorf("%d - %d = %d, %v", tt.a, tt.b, got, ok)
		}
	}
}

func TestTimesStayInTheCalendar(t *testing.T) {
	first, last := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	if _, ok := fsm.AddTime(last, time.Second); ok {
		t.Error("the year 10000 was reached")
	}
	if _, ok := fsm.SubTime(first, 1); ok {
		t.Error("the year 0 was reached")
	}
	if got, ok := fsm.AddTime(first, time.Hour); !ok || got != first.Add(time.Hour) {
		t.Errorf("got %v, %v", got, ok)
	}
	if got, ok := fsm.SubTime(last, math.MinInt64); ok {
		t.Errorf("the smallest duration was subtracted: %v", got)
	}
	if d, ok := fsm.Between(last, first); ok {
		t.Errorf("%v fits a duration", d)
	}
	if d, ok := fsm.Between(first.Add(time.Minute), first); !ok || d != time.Minute {
		t.Errorf("got %v, %v", d, ok)
	}
}

func TestBackoffIsBounded(t *testing.T) {
	p := fsm.RetryPolicy{First: time.Second, Factor: 2, Max: 5 * time.Second, Jitter: 0.5, Attempts: 4}
	for i, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second} {
		if d, ok := p.Backoff(i+1, 0.5); !ok || d != want {
			t.Errorf("repeat %d waits %v, %v, want %v", i+1, d, ok, want)
		}
	}
	if d, _ := p.Backoff(1, 0); d != 500*time.Millisecond {
		t.Errorf("the shortest first delay is %v", d)
	}
	if d, _ := p.Backoff(4, 1); d != p.Max {
		t.Errorf("jitter passes the maximum: %v", d)
	}
	for _, attempt := range []int{0, 5} {
		if _, ok := p.Backoff(attempt, 0.5); ok {
			t.Errorf("repeat %d is allowed", attempt)
		}
	}
	if _, ok := (fsm.RetryPolicy{}).Backoff(1, 0); ok {
		t.Error("the zero policy repeats")
	}
	huge := fsm.RetryPolicy{First: time.Hour, Factor: 100, Attempts: 1000}
	if d, ok := huge.Backoff(1000, 1); !ok || d <= 0 {
		t.Errorf("without a maximum the delay overflows: %v", d)
	}
}

// TestDiffers: only a value that is there can differ from another.
func TestDiffers(t *testing.T) {
	if !fsm.Differs(fsm.Some("a"), "b") || !fsm.Differs(fsm.Some(0), 1) || !fsm.Differs(fsm.Some(1), 0) || !fsm.Differs(fsm.Some(true), false) {
		t.Error("another value does not differ")
	}
	if fsm.Differs(fsm.Some("a"), "a") || fsm.Differs(fsm.Some(0), 0) {
		t.Error("the same value differs")
	}
	if fsm.Differs(fsm.None[string](), "b") || fsm.Differs(fsm.None[int](), 0) {
		t.Error("an absent value differs")
	}
}
