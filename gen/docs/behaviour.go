package docs

import (
	"strconv"

	"github.com/fsmgen/fsmgen/gen/ir"
)

func states(m *ir.Machine) *table {
	t := newTable("State", "Kind", "Terminal", "Recoverable", "Entry", "Exit", "Holds", "Timeout", "Fires", "Description")
	for _, s := range m.States {
		after, fires := "", ""
		if s.Timeout != nil {
			after, fires = deadline(s.Timeout), code(fireText(s.Timeout.Fire))
		}
		t.add(code(s.Text), string(s.Kind), yesNo(s.Terminal), yesNo(s.Recoverable),
			codes(actionNames(s.Entry)), codes(actionNames(s.Exit)), lines(clauseTexts(s.Holds)), after, fires, prose(s.Doc))
	}
	return t
}

// deadline is "48h", with the param that sets it, or the field it follows.
func deadline(t *ir.Timeout) string {
	if t.At != nil {
		return "at " + code(t.At.Text)
	}
	length, param := operandDuration(t.After)
	if param != "" {
		return length + " (" + code(param) + ")"
	}
	return length
}

func transitionsIntro(m *ir.Machine) string {
	if len(m.Do) == 0 {
		return ""
	}
	return "Every accepted row also does " + codes(actionNames(m.Do)) + ", after all else."
}

func transitions(m *ir.Machine) *table {
	t := newTable("#", "Transition", "From", "To", "Event", "Actor", "Priority", "Guard", "Sets", "Side effects", "Raises", "Description")
	ranked := prioritised(m)
	for _, r := range specRows(m) {
		if r.Reject != nil {
			continue
		}
		to, priority, raises := "(stays)", "", ""
		if r.To != nil {
			to = code(r.To.Text)
		}
		if ranked {
			priority = strconv.Itoa(r.Priority)
		}
		if r.Raise != nil {
			raises = code(fireText(r.Raise))
		}
		t.add(strconv.Itoa(r.number), code(r.Text), r.sources(), to, codes(r.on), codes(r.by), priority,
			r.guards(), lines(assignTexts(r.Set)), codes(actionNames(r.Do)), raises, prose(r.Doc))
	}
	return t
}

func refusals(m *ir.Machine) *table {
	t := newTable("#", "Refusal", "From", "Event", "Actor", "Guard", "Failure class", "Status", "Description")
	for _, r := range specRows(m) {
		if r.Reject == nil {
			continue
		}
		t.add(strconv.Itoa(r.number), code(r.Text), r.sources(), codes(r.on), codes(r.by), r.guards(),
			code(r.Reject.Text), status(r.Reject), prose(r.Doc))
	}
	return t
}

func timeouts(m *ir.Machine) *table {
	t := newTable("State", "Timeout", "Fires", "Action on expiry")
	for _, s := range m.States {
		if s.Timeout == nil {
			continue
		}
		var leads []string
		for _, r := range m.Rows {
			if r.From == s && r.Event == s.Timeout.Fire.Event && r.Reject == nil {
				leads = appendNew(leads, "→ "+code(r.Target().Text))
			}
		}
		t.add(code(s.Text), deadline(s.Timeout), code(fireText(s.Timeout.Fire)), commas(leads))
	}
	return t
}

func events(m *ir.Machine) *table {
	t := newTable("Event", "Source", "Actor", "Facts", "Stores", "Key", "Lock", "Description")
	for _, e := range m.Events {
		facts, stores := []string{}, []string{}
		for _, f := range e.Fields {
			facts = append(facts, f.Text+": "+typeText(f.Type))
		}
		for _, w := range e.Writes {
			stores = append(stores, writeText(w))
		}
		source, key := string(e.Source), ""
		if e.Internal && e.Source != ir.Internal {
			source += ", internal"
		}
		if e.Key != nil {
			key = code(e.Key.String())
		}
		t.add(code(e.Text), source, codes(names(e.By)), lines(facts), lines(stores), key, lock(e.Lock), prose(e.Doc))
	}
	return t
}

func writeText(w ir.Write) string {
	typ := w.Field.Type
	typ.Optional = w.Optional
	return w.Field.Text + ": " + typeText(typ)
}

func lock(l *ir.Lock) string {
	if l == nil {
		return ""
	}
	return code(l.Key.String()) + " for " + l.TTL
}

func actors(m *ir.Machine) *table {
	t := newTable("Actor", "Who", "Description")
	for _, a := range m.Actors {
		who := "any caller of this role"
		if a.Is != nil {
			who = "the caller whose id is the record's " + code(a.Is.Text)
		}
		t.add(code(a.Text), who, prose(a.Doc))
	}
	if len(m.Actors) > 0 {
		t.add(code("system"), "the engine and trusted services", "")
	}
	return t
}
