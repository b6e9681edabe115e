package docs

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/fsmgen/fsmgen/gen/ir"
)

func effects(m *ir.Machine) *table {
	t := newTable("Effect", "Kind", "Delivery", "To", "Payload", "Answers", "Retry", "Lock", "Recovery after a crash", "Description")
	for _, e := range m.Effects {
		var payload []string
		for _, p := range e.With {
			payload = append(payload, payloadText(p.Name, p.Value.Text))
		}
		for _, c := range e.Row {
			payload = append(payload, payloadText(c.Column.Text, c.Value.Text))
		}
		retry := ""
		if e.Retry != nil {
			retry = code(e.Retry.Text)
		}
		t.add(code(e.Text), effectKind(e), string(e.Delivery), code(e.To), codes(payload), answers(e), retry,
			lock(e.Lock), recovery(e), prose(e.Doc))
	}
	return t
}

// payloadText is "name", or "name: value" where the value is another one.
func payloadText(name, value string) string {
	if strings.TrimPrefix(value, "$") == name {
		return name
	}
	return name + ": " + value
}

func effectKind(e *ir.Effect) string {
	kind, target := kindOf(e)
	if e.Kind == ir.Log {
		return "log " + string(e.Level)
	}
	if target != "" {
		return kind + " " + code(target)
	}
	return kind
}

// answers lists the events that may come back.
func answers(e *ir.Effect) string {
	var out []string
	for _, f := range e.Returns {
		out = append(out, code(fireText(f)))
	}
	if e.Fails != nil {
		out = append(out, "fails: "+code(fireText(e.Fails)))
	}
	if e.Lost != nil {
		out = append(out, "lost: "+code(fireText(e.Lost)))
	}
	return strings.Join(out, "<br>")
}

// recovery says what happens to e when a crash left it unfinished, in the
// vocabulary of document 002, Recovery Action Definitions.
func recovery(e *ir.Effect) string {
	if e.Kind == ir.Log {
		return "None: the line may be lost"
	}
	var what string
	switch e.Delivery {
	case ir.InTransaction:
		return "None: part of the step or not there"
	case ir.Queryable:
		what = "Ask first: done is **Skip**, else **Retry**"
		if e.Cleanup != nil {
			what = "Ask first: done is **Skip**, else **Cleanup** (" + code(e.Cleanup.Text) + "), **Retry**"
		}
		return what
	case ir.AtMostOnce:
		what = "Never repeated"
		if e.Lost != nil {
			what += ": fires " + code(fireText(e.Lost))
		}
		return what
	case ir.Keyed:
		what = "**Retry** with the same key"
	case ir.Idempotent:
		what = "**Retry**"
	default:
		panic(ir.NoForm("docs.recovery", e.Delivery))
	}
	if e.Cleanup != nil {
		what = "**Cleanup** (" + code(e.Cleanup.Text) + "), " + what
	}
	return what
}

// recoveries lists, for each state that waits for work, what is stored there
// and how its work goes on.
func recoveries(m *ir.Machine) *table {
	t := newTable("State", "Persisted data", "Work", "Recovery action")
	for _, s := range m.States {
		seen := make(map[*ir.Effect]bool)
		for _, r := range m.Rows {
			if r.Reject != nil || r.Target() != s {
				continue
			}
			for _, a := range r.Actions {
				if a.Effect != nil && a.Effect.IsWork() && !seen[a.Effect] {
					seen[a.Effect] = true
					t.add(code(s.Text), codes(persisted(s)), code(a.Effect.Text), recovery(a.Effect))
				}
			}
		}
	}
	return t
}

// persisted are the record fields that s is known to have.
func persisted(s *ir.State) []string {
	var fields []string
	for _, c := range s.Holds {
		if c.Left.Field != nil && (!c.Op.Presence() || c.AssertsPresence()) {
			fields = appendNew(fields, c.Left.Field.Text)
		}
	}
	return fields
}

func failures(m *ir.Machine) *table {
	t := newTable("Class", "Retry", "Status", "Description")
	for _, f := range m.Failures {
		t.add(code(f.Text), retryText(f.Retry), status(f), prose(f.Doc))
	}
	return t
}

func status(f *ir.Failure) string {
	if f.Status == 0 {
		return ""
	}
	return strconv.Itoa(f.Status)
}

func retryText(r *ir.Retry) string {
	if r == nil {
		return "never"
	}
	s := fmt.Sprintf("%s, then times %g up to %s, %s", r.First, r.Factor, r.Max, plural(r.Attempts, "attempt", "attempts"))
	if r.Jitter > 0 {
		s += fmt.Sprintf(", ±%g %%", r.Jitter*100)
	}
	return s
}

func metrics(m *ir.Machine) *table {
	t := newTable("Metric", "Type", "Labels", "Value", "Buckets", "Only when", "Counted at", "Description")
	for _, x := range m.Metrics {
		var labels, buckets []string
		for _, l := range x.Labels {
			if l.Value.Kind == 0 {
				labels = append(labels, l.Name)
			} else {
				labels = append(labels, payloadText(l.Name, l.Value.Text))
			}
		}
		for _, b := range x.Buckets {
			buckets = append(buckets, strconv.FormatFloat(b, 'g', -1, 64))
		}
		value := ""
		if x.Value != nil {
			value = code(x.Value.Text)
		}
		t.add(code(x.Text), string(x.Type), codes(labels), value, commas(buckets), lines(clauseTexts(x.When)), countedAt(m, x), prose(x.Doc))
	}
	return t
}

// countedAt says where x is counted, and by whom if no row lists it.
func countedAt(m *ir.Machine, x *ir.Metric) string {
	switch x.Of {
	case ir.OfRows:
		return listedAt(m, x)
	case ir.OfTimeout, ir.OfStateDuration, ir.OfFatal:
		return "by the engine: " + strings.ReplaceAll(string(x.Of), "_", " ")
	case ir.OfService:
		return "by the service around the machine"
	}
	panic(ir.NoForm("docs.countedAt", x.Of))
}

// listedAt names the places that list x.
func listedAt(m *ir.Machine, x *ir.Metric) string {
	var places []string
	lists := func(actions []ir.Action) bool {
		for _, a := range actions {
			if a.Metric == x {
				return true
			}
		}
		return false
	}
	if lists(m.Do) {
		places = append(places, "every row")
	}
	for _, s := range m.States {
		if lists(s.Entry) {
			places = append(places, "entry of "+code(s.Text))
		}
		if lists(s.Exit) {
			places = append(places, "exit of "+code(s.Text))
		}
	}
	for _, r := range specRows(m) {
		if lists(r.Do) {
			places = append(places, code(r.Text))
		}
	}
	return commas(places)
}

func commas(items []string) string { return strings.Join(items, ", ") }
