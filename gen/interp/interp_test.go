package interp_test

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/gen/diag"
	"github.com/fsmgen/fsmgen/gen/interp"
	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/syntax"
)

const id = "00000000-0000-4000-8000-000000000001"

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// parcel compiles testdata/parcel.yaml.
func parcel(t *testing.T) *ir.Machine {
	t.Helper()
	data, err := os.ReadFile("testdata/parcel.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var list diag.List
	machines := ir.Lower([]*syntax.File{syntax.Parse("parcel.yaml", data, &list)}, &list)
	for _, d := range list.Sorted() {
		t.Fatalf("%s: %s", d.Span, d.Message)
	}
	return machines[0]
}

func event(t *testing.T, m *ir.Machine, name string) *ir.Event {
	t.Helper()
	for _, ev := range m.Events {
		if ev.Text == name {
			return ev
		}
	}
	t.Fatalf("no event %s", name)
	return nil
}

func actor(m *ir.Machine, role string, id ir.Value) interp.Actor {
	for _, a := range m.Actors {
		if a.Text == role {
			return interp.Actor{Role: a, ID: id}
		}
	}
	return interp.System()
}

// call is an event as a test writes it: name, payload and role.
type call struct {
	event, payload, role string
	actorID              ir.Value
}

func fire(t *testing.T, m *ir.Machine, rec *interp.Record, c call) (interp.Result, *interp.Rejection) {
	t.Helper()
	ev := event(t, m, c.event)
	args, err := interp.UnmarshalPayload(ev, []byte("{"+c.payload+"}"))
	if err != nil {
		t.Fatal(err)
	}
	in := interp.Input{Event: ev, Args: args, Actor: actor(m, c.role, c.actorID), Now: noon.Add(999)}
	if rec == nil {
		return interp.Create(m, id, in)
	}
	return interp.Fire(m, rec, in)
}

// record reads a record of the given state; members override the sender.
func record(t *testing.T, m *ir.Machine, state, members string) *interp.Record {
	t.Helper()
	if members != "" {
		members = "," + members
	}
	r, err := interp.UnmarshalRecord(m, []byte(`{"parcel_id":"`+id+`","state":"`+state+`","sender_id":7`+members+`}`))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func value(m *ir.Machine, r *interp.Record, name string) ir.Value {
	for _, f := range m.Fields {
		if f.Text == name {
			return r.Get(f)
		}
	}
	return nil
}

func trace(r interp.Result, rej *interp.Rejection) string {
	if rej != nil {
		return string(rej.Reason)
	}
	if r.AlreadyThere() {
		return "already there"
	}
	var b strings.Builder
	for _, s := range r.Steps {
		fmt.Fprintf(&b, "%s>%s ", s.Row, s.After.State)
	}
	return strings.TrimSpace(b.String())
}

func TestRules(t *testing.T) {
	m := parcel(t)
	tests := []struct {
		rule, state, record string
		call                call
		want                string
	}{
		{"0 an absent required value", "open", "", call{event: "pack", payload: `"heavy":false`, role: "clerk"}, "invalid_event"},
		{"0 an int below min of an event field", "open", "", call{event: "bump", payload: `"by":0`, role: "clerk"}, "invalid_event"},
		{"0 an int above max of a written field", "open", "", call{event: "weigh_in", payload: `"weight":11`, role: "clerk"}, "invalid_event"},
		{"0 a string shorter than min of a written field", "open", "", call{event: "pack", payload: `"heavy":false,"label":"é"`, role: "clerk"}, "invalid_event"},
		{"0 length counts characters", "open", "", call{event: "pack", payload: `"heavy":false,"label":"éé"`, role: "clerk"}, "pack>packed"},
		{"0 a value outside the enum", "sent", "", call{event: "inspect", payload: `"size":"huge"`, role: "clerk"}, "invalid_event"},
		{"0 comes before 1", "lost", "", call{event: "bump", payload: `"by":0`, role: "clerk"}, "invalid_event"},
		{"1 no row", "packed", `"label":"ab"`, call{event: "bump", payload: `"by":1`, role: "clerk"}, "invalid_transition"},
		{"1 already there", "arrived", "", call{event: "inspect", payload: `"size":"small"`, role: "clerk"}, "already there"},
		{"1 already there only for who may", "arrived", "", call{event: "inspect", payload: `"size":"small"`, role: "sender", actorID: int64(7)}, "invalid_transition"},
		{"1 internal rows lead nowhere", "lost", `"note":"x"`, call{event: "weigh_in", payload: `"weight":1`, role: "clerk"}, "invalid_transition"},
		{"1 the role may not", "open", "", call{event: "bump", payload: `"by":1`, role: "sender", actorID: int64(7)}, "not_allowed"},
		{"1 the sender may", "open", "", call{event: "pack", payload: `"heavy":false,"label":"ab"`, role: "sender", actorID: int64(7)}, "pack>packed"},
		{"1 another sender may not", "open", "", call{event: "pack", payload: `"heavy":false,"label":"ab"`, role: "sender", actorID: int64(8)}, "not_allowed"},
		{"1 a sender without id may not", "open", "", call{event: "pack", payload: `"heavy":false,"label":"ab"`, role: "sender"}, "not_allowed"},
		{"1 system is a role too", "open", "", call{event: "pack", payload: `"heavy":false,"label":"ab"`, role: "system"}, "not_allowed"},
		{"2 the guard reads params", "open", `"weight":2`, call{event: "pack", payload: `"heavy":true,"label":"ab"`, role: "clerk"}, "pack_big>packed"},
		{"2 otherwise refuses", "open", `"weight":3`, call{event: "pack", payload: `"heavy":true,"label":"ab"`, role: "clerk"}, "refused"},
		{"2 no guard holds", "sent", "", call{event: "inspect", payload: `"size":"large"`, role: "clerk"}, "guard_failed"},
		{"2 the guard sees the incoming value", "sent", `"size":"large"`, call{event: "inspect", payload: `"size":"small"`, role: "clerk"}, "inspect>arrived"},
		{"3 overflow", "open", `"tries":9223372036854775807`, call{event: "bump", payload: `"by":1`, role: "clerk"}, "overflow"},
		{"3 set reads old values", "open", `"tries":9`, call{event: "bump", payload: `"by":5`, role: "clerk"}, "bump>open"},
		{"3 out of range", "open", `"tries":10`, call{event: "bump", payload: `"by":5`, role: "clerk"}, "out_of_range"},
		{"3 write-once", "open", `"label":"ab"`, call{event: "pack", payload: `"heavy":false,"label":"cd"`, role: "clerk"}, "immutable"},
		{"3 the same value may be written again", "open", `"label":"ab"`, call{event: "pack", payload: `"heavy":false,"label":"ab"`, role: "clerk"}, "pack>packed"},
		{"5 holds of the new state", "open", `"weight":9`, call{event: "pack", payload: `"heavy":false,"label":"ab"`, role: "clerk"}, "holds_failed"},
		{"5 holds of an internal row", "packed", `"label":"ab"`, call{event: "weigh_in", payload: `"weight":9`, role: "clerk"}, "holds_failed"},
		{"8 raise", "packed", `"label":"ab","size":"small"`, call{event: "send", role: "clerk"}, "send>sent deliver>arrived"},
		{"8 a refused raise refuses the whole", "packed", `"label":"ab","size":"large"`, call{event: "send", role: "clerk"}, "guard_failed"},
		{"wildcard rows", "open", "", call{event: "lose", payload: `"why":"x"`, role: "system"}, "lose>lost"},
		{"wildcard rows spare terminal states", "arrived", "", call{event: "lose", payload: `"why":"x"`, role: "system"}, "invalid_transition"},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			rec := record(t, m, tt.state, tt.record)
			before := string(interp.MarshalRecord(m, rec))
			result, rej := fire(t, m, rec, tt.call)
			if got := trace(result, rej); got != tt.want {
				t.Errorf("%s, want %s (%v)", got, tt.want, rej)
			}
			if string(interp.MarshalRecord(m, rec)) != before {
				t.Error("the call changed the record it was given")
			}
		})
	}
}

func TestCreationChecksThePartyOnTheNewRecord(t *testing.T) {
	m := parcel(t)
	result, rej := fire(t, m, nil, call{event: "accept", role: "sender", actorID: int64(7)})
	if rej != nil {
		t.Fatal(rej)
	}
	want := `{"parcel_id":"` + id + `","state":"open","sender_id":7,"size":null,"weight":1,"label":null,"due":null,"note":null,"tries":0}`
	if got := string(interp.MarshalRecord(m, result.Record)); got != want || result.Record.Version != 1 {
		t.Errorf("record %s, version %d", got, result.Record.Version)
	}
	if _, rej := fire(t, m, nil, call{event: "accept", role: "sender"}); rej == nil || rej.Reason != interp.NotAllowed {
		t.Errorf("no actor id for a required field: %v", rej)
	}
	if _, rej := fire(t, m, nil, call{event: "bump", payload: `"by":0`, role: "clerk"}); rej == nil || rej.Reason != interp.InvalidTransition {
		t.Errorf("an event that creates nothing: %v", rej)
	}
	if _, rej := fire(t, m, nil, call{event: "accept", role: "clerk", actorID: int64(7)}); rej == nil || rej.Reason != interp.NotAllowed {
		t.Errorf("creation by another role: %v", rej)
	}
}

func TestOptionalWriteClears(t *testing.T) {
	m := parcel(t)
	result, rej := fire(t, m, record(t, m, "packed", `"label":"ab","due":"2026-05-02T00:00:00Z"`), call{event: "plan", role: "clerk"})
	if rej != nil || value(m, result.Record, "due") != nil {
		t.Errorf("due = %v, %v", result.Record, rej)
	}
	if at := result.Steps[0].Deadline; at.Kept || at.At != nil {
		t.Errorf("the deadline did not follow its field: %+v", at)
	}
}

func TestEffectsInOrderWithTheNewRecord(t *testing.T) {
	m := parcel(t)
	effects := func(result interp.Result, rej *interp.Rejection) string {
		if rej != nil {
			return rej.Error()
		}
		var all []string
		for _, s := range result.Steps {
			for _, e := range s.Effects {
				all = append(all, string(interp.MarshalEffect(e)))
			}
		}
		return strings.Join(all, "\n")
	}
	pack := call{event: "pack", payload: `"heavy":false,"label":"ab"`, role: "clerk"}
	if got, want := effects(fire(t, m, record(t, m, "open", ""), pack)), strings.Join([]string{
		`{"name":"log_leave","kind":"log","payload":{"weight":1}}`,
		`{"name":"weigh","kind":"call","payload":{"weight":1,"sticker":"P-ab"}}`,
		`{"name":"tell_all","kind":"call","payload":null}`,
	}, "\n"); got != want {
		t.Errorf("pack:\n%s\nwant\n%s", got, want)
	}
	send := call{event: "send", role: "clerk", actorID: int64(3)}
	if got, want := effects(fire(t, m, record(t, m, "packed", `"label":"ab","size":"small"`), send)), strings.Join([]string{
		`{"name":"announce","kind":"call","payload":{"parcel":"` + id + `","state":"sent","from":"packed","who":3,"at":"2026-05-01T12:00:00Z"}}`,
		`{"name":"tell_all","kind":"call","payload":null}`,
		`{"name":"tell_all","kind":"call","payload":null}`,
	}, "\n"); got != want {
		t.Errorf("send:\n%s\nwant\n%s", got, want)
	}
	weigh := call{event: "weigh_in", payload: `"weight":6`, role: "clerk"}
	if got, want := effects(fire(t, m, record(t, m, "open", ""), weigh)), strings.Join([]string{
		`{"name":"heavy_total","kind":"metric","payload":{"value":1,"labels":[{"name":"size","value":""}]}}`,
		`{"name":"weight_seen","kind":"metric","payload":{"value":6,"labels":[{"name":"state","value":"open"}]}}`,
		`{"name":"tell_all","kind":"call","payload":null}`,
	}, "\n"); got != want {
		t.Errorf("weigh_in:\n%s\nwant\n%s", got, want)
	}
	if got := effects(fire(t, m, record(t, m, "open", ""), call{event: "lose", payload: `"why":"fire"`, role: "clerk"})); !strings.Contains(got, `{"name":"say","kind":"call","payload":{"why":"fire"}}`) {
		t.Errorf("a row's own effect names an event field: %s", got)
	}
}

func TestDeadlines(t *testing.T) {
	m := parcel(t)
	tests := []struct {
		state, record string
		call          call
		kept          bool
		at            time.Duration // from noon; -1: none
	}{
		{"open", "", call{event: "bump", payload: `"by":1`, role: "clerk"}, true, -1},
		{"open", "", call{event: "plan", role: "clerk"}, false, 2 * time.Hour},
		{"open", `"due":"2026-05-01T13:00:00Z"`, call{event: "pack", payload: `"heavy":false,"label":"ab"`, role: "clerk"}, false, time.Hour},
		{"open", "", call{event: "pack", payload: `"heavy":false,"label":"ab"`, role: "clerk"}, false, -1},
		{"packed", `"label":"ab"`, call{event: "plan", payload: `"due":"2026-05-01T15:00:00Z"`, role: "clerk"}, false, 3 * time.Hour},
		{"open", "", call{event: "lose", payload: `"why":"x"`, role: "clerk"}, false, -1},
	}
	for _, tt := range tests {
		result, rej := fire(t, m, record(t, m, tt.state, tt.record), tt.call)
		if rej != nil {
			t.Fatal(rej)
		}
		d := result.Steps[0].Deadline
		at := time.Duration(-1)
		if d.At != nil {
			at = d.At.Sub(noon)
			if d.Fire.Event.Text != "lose" || len(d.Args) != 1 || d.Args[0] == nil {
				t.Errorf("%s: fires %v %v", tt.call.event, d.Fire.Event, d.Args)
			}
		}
		if d.Kept != tt.kept || at != tt.at {
			t.Errorf("%s in %s: kept %v, at %v", tt.call.event, tt.state, d.Kept, at)
		}
	}
}

func TestRejectionsExplainThemselves(t *testing.T) {
	m := parcel(t)
	_, rej := fire(t, m, record(t, m, "sent", ""), call{event: "inspect", payload: `"size":"large"`, role: "clerk"})
	want := `guard_failed: inspect in sent by clerk: size == small of row inspect is false ("large" == "small")`
	if rej == nil || rej.Error() != want {
		t.Errorf("%v, want %s", rej, want)
	}
	_, rej = fire(t, m, record(t, m, "open", `"weight":3`), call{event: "pack", payload: `"heavy":true,"label":"ab"`, role: "clerk"})
	if rej == nil || rej.Failure == nil || rej.Failure.Text != "too_heavy" {
		t.Errorf("%v lacks its class", rej)
	}
	if _, rej := interp.Fire(m, &interp.Record{}, interp.Input{Event: m.Events[0]}); rej == nil || rej.Reason != interp.Corrupt {
		t.Errorf("a record without a state: %v", rej)
	}
}

func TestExplain(t *testing.T) {
	m := parcel(t)
	in := interp.Input{Actor: actor(m, "clerk", nil), Now: noon}
	got := map[string]string{}
	for _, v := range interp.Explain(m, record(t, m, "sent", `"size":"large"`), in) {
		if v.Legal {
			got[v.Event.Text] = fmt.Sprint("legal ", len(v.Needs))
		} else {
			got[v.Event.Text] = string(v.Why.Reason)
		}
	}
	for name, want := range map[string]string{
		"inspect": "legal 1", "lose": "legal 0", "deliver": "not_allowed", "pack": "invalid_transition",
	} {
		if got[name] != want {
			t.Errorf("%s: %s, want %s", name, got[name], want)
		}
	}
	var names []string
	for _, ev := range interp.Legal(m, nil, interp.Input{Actor: actor(m, "sender", nil), Now: noon}) {
		names = append(names, ev.Text)
	}
	if fmt.Sprint(names) != "[accept]" {
		t.Errorf("legal before creation: %v", names)
	}
}

func TestTimesAreTruncated(t *testing.T) {
	m := parcel(t)
	ev := event(t, m, "plan")
	in := interp.Input{Event: ev, Args: []ir.Value{noon.Add(1999)}, Actor: actor(m, "clerk", nil), Now: noon.Add(999)}
	result, rej := interp.Fire(m, record(t, m, "packed", `"label":"ab"`), in)
	if rej != nil || !value(m, result.Record, "due").(time.Time).Equal(noon.Add(time.Microsecond)) {
		t.Errorf("%v %v", result.Record, rej)
	}
	in.Args = []ir.Value{time.Date(math.MaxInt16, 1, 1, 0, 0, 0, 0, time.UTC)}
	if _, rej := interp.Fire(m, record(t, m, "packed", `"label":"ab"`), in); rej == nil || rej.Reason != interp.InvalidEvent {
		t.Errorf("a time after year 9999: %v", rej)
	}
}
