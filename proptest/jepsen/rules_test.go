//go:build unix

package jepsen_test

import (
	"slices"
	"testing"
	"time"
)

// origin is when the sound evidence begins.
var origin = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(seconds int) time.Time { return origin.Add(time.Duration(seconds) * time.Second) }

// sound is the evidence of one payment that went well, with two notes.
func sound(t *testing.T) evidence {
	t.Helper()
	e := evidence{table: readTable(t), excused: &excuses{}, records: map[string]record{"r": {"settled", 8}}}
	from := ""
	for i, h := range []step{
		{transition: "open", event: "open", to: "opened", payload: `{"ref":"a"}`},
		{transition: "approve", event: "approve", to: "reserved"},
		{transition: "annotate", event: "annotate", to: "reserved", payload: `{"ref":"b"}`},
		{transition: "confirm", event: "confirm", to: "paying", payload: `{"ref":"c"}`},
		{transition: "pay_done", event: "pay_done", to: "paid"},
		{transition: "go_on", event: "go_on", to: "sealing"},
		{transition: "seal_done", event: "seal_done", to: "settled"},
		{transition: "annotate", event: "annotate", to: "settled", payload: `{"ref":"d"}`},
	} {
		h.record, h.version, h.from = "r", int64(i+1), from
		from = h.to
		e.history = append(e.history, h)
	}
	for i, m := range []message{
		{effect: "check_limit", version: 1}, {effect: "ask_payer", version: 2}, {effect: "notify_payee", version: 3}, {effect: "pay", version: 4},
		{effect: "seal", version: 6}, {effect: "archive", version: 7}, {effect: "notify_payee", version: 8},
	} {
		m.id, m.record, m.state = string(rune('A'+i)), "r", "delivered"
		m.delivery, m.destination = e.table.Effects[m.effect].Delivery, e.table.orderingKey(m.effect)
		e.messages = append(e.messages, m)
		c := call{Verb: verbDo, ID: m.id, Effect: m.effect, Record: "r", Attempt: 1, Worker: "w", Begun: at(10 * i)}
		e.begun = append(e.begun, c)
		e.books = append(e.books, booking{call: c, At: at(10*i + 1), Done: at(10*i + 2)})
		e.leases = append(e.leases, leased{m.id, "w", at(10 * i)})
	}
	e.booked = []booked{{"r", "book_note", 3}, {"r", "book_payment", 5}, {"r", "book_note", 8}}
	for i, ref := range []string{"a", "b", "c", "d"} {
		n := []int{0, 2, 3, 7}[i]
		e.fired = append(e.fired, fired{ref, "r", e.history[n].event, accepted, int64(n + 1)})
	}
	return e
}

// unsealed makes the record believe that its seal met with an event, and nothing else.
func (e *evidence) unsealed(event string) {
	e.history[6].transition, e.history[6].event, e.history[6].to = event, event, "unsealed"
	e.history, e.messages, e.booked, e.fired = e.history[:7], e.messages[:6], e.booked[:2], e.fired[:3]
	e.books = e.books[:6]
	e.records["r"] = record{"unsealed", 7}
}

// again repeats the call of a message, as a second attempt.
func (e *evidence) again(n int, worker string, second int) {
	b := e.books[n]
	b.Attempt, b.Worker, b.Begun, b.At, b.Done = 2, worker, at(second), at(second+1), at(second+2)
	e.books = append(e.books, b)
	e.begun = append(e.begun, b.call)
}

// TestEachRuleBites shows each rule evidence that breaks it, and evidence that only
// looks as if.
func TestEachRuleBites(t *testing.T) {
	t.Parallel()
	const pay, seal = 3, 4 // the messages
	for name, tt := range map[string]struct {
		want   string // the rule that is broken; empty: none
		doctor func(e *evidence)
	}{
		"sound":                             {"", func(*evidence) {}},
		"a process ends":                    {"processes", func(e *evidence) { e.failures = []string{"w ended"} }},
		"an acknowledged event is gone":     {"acknowledged", func(e *evidence) { e.fired = append(e.fired, fired{"x", "r", "annotate", accepted, 9}) }},
		"an open event is nowhere":          {"", func(e *evidence) { e.fired = append(e.fired, fired{"x", "r", "annotate", meant, 0}) }},
		"a refused event is there":          {"acknowledged", func(e *evidence) { e.fired[1].Verdict = refused }},
		"an event is there twice":           {"acknowledged", func(e *evidence) { e.history[7].payload = `{"ref":"b"}` }},
		"another version was told":          {"acknowledged", func(e *evidence) { e.fired[1].Version = 4 }},
		"nothing fired an event":            {"acknowledged", func(e *evidence) { e.fired = e.fired[1:] }},
		"a version is missing":              {"course", func(e *evidence) { e.history = slices.Delete(e.history, 1, 2) }},
		"no such edge":                      {"course", func(e *evidence) { e.history[1].transition = "confirm" }},
		"the record is elsewhere":           {"course", func(e *evidence) { e.records["r"] = record{"settled", 9} }},
		"the record is gone":                {"course", func(e *evidence) { delete(e.records, "r") }},
		"a raised event is missing":         {"course", func(e *evidence) { e.history[5].event = "annotate" }},
		"a message is missing":              {"asked", func(e *evidence) { e.messages = slices.Delete(e.messages, 2, 3) }},
		"a message has another destination": {"asked", func(e *evidence) { e.messages[1].destination = "bank" }},
		"a row is there twice":              {"asked", func(e *evidence) { e.booked = append(e.booked, e.booked[0]) }},
		"a row of no step":                  {"asked", func(e *evidence) { e.booked = append(e.booked, booked{"x", "book_note", 1}) }},
		"a record is stuck":                 {"ended", func(e *evidence) { e.records["r"] = record{"sealing", 8} }},
		"a message is a dead letter":        {"ended", func(e *evidence) { e.messages[5].state = "dead_letter" }},
		"a message is cancelled":            {"ended", func(e *evidence) { e.messages[5].cancelled = true }},
		"work is cancelled":                 {"", func(e *evidence) { e.messages[0].state, e.messages[0].cancelled = "delivering", true }},
		"a discarded message":               {"", func(e *evidence) { e.messages[5].state, e.messages[5].discarded = "dead_letter", true }},
		"a call of no message":              {"calls", func(e *evidence) { e.books[1].ID = "x" }},
		"one attempt calls twice":           {"calls", func(e *evidence) { e.books = append(e.books, e.books[6]) }},
		"delivered and never done":          {"carried out", func(e *evidence) { e.books[5].Done = time.Time{} }},
		"answered and never done":           {"answers", func(e *evidence) { e.books[pay].Done = time.Time{} }},
		"told failed and done":              {"fails", func(e *evidence) { e.unsealed("seal_fail") }},
		"told failed and not done":          {"", func(e *evidence) { e.unsealed("seal_fail"); e.books[seal].Done = time.Time{} }},
		"told failed, done by one that was stopped": {"", func(e *evidence) {
			e.unsealed("seal_fail")
			e.spans = []span{{"w", at(40), at(41)}}
		}},
		"lost, and a handler began": {"", func(e *evidence) { e.unsealed("seal_lost") }},
		"lost, and no handler began": {"lost", func(e *evidence) {
			e.unsealed("seal_lost")
			e.begun = slices.Delete(e.begun, seal, seal+1)
		}},
		"lost, and the worker was killed": {"", func(e *evidence) {
			e.unsealed("seal_lost")
			e.begun = slices.Delete(e.begun, seal, seal+1)
			e.spans = []span{{Worker: "w", From: at(45)}}
		}},
		"lost, and the worker was stopped before": {"lost", func(e *evidence) {
			e.unsealed("seal_lost")
			e.begun = slices.Delete(e.begun, seal, seal+1)
			e.spans = []span{{"w", at(1), at(2)}}
		}},
		"at most once, and twice": {"once", func(e *evidence) { e.again(seal, "v", 70) }},
		"paid twice":              {"doubled", func(e *evidence) { e.again(pay, "v", 70) }},
		"paid twice, by one that was stopped": {"", func(e *evidence) {
			e.again(pay, "v", 70)
			e.spans = []span{{"v", at(70), at(71)}}
		}},
		"paid twice, by one that was stopped before": {"doubled", func(e *evidence) {
			e.again(pay, "v", 70)
			e.spans = []span{{"v", at(60), at(61)}}
		}},
		"messages out of order":             {"order", func(e *evidence) { e.again(1, "v", 70) }},
		"a repeat within the ordering key":  {"", func(e *evidence) { e.again(1, "v", 15) }},
		"another ordering key is no hurdle": {"", func(e *evidence) { e.again(0, "v", 70) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := sound(t)
			tt.doctor(&e)
			violations := check(e)
			broken := slices.ContainsFunc(violations, func(v violation) bool { return v.rule == tt.want })
			if tt.want == "" && len(violations) > 0 || tt.want != "" && !broken {
				t.Errorf("broken are %v, want the rule %q", violations, tt.want)
			}
		})
	}
}
