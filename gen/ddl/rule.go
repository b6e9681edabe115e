package ddl

import (
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// rule is one refusal of a trigger: when cond is true the statement fails.
type rule struct {
	comment string
	// path are conditions under which the rule is judged. Rules that follow each other
	// share the beginning of theirs, and what differs excludes each other.
	path []string
	// when is judged first; rules that follow each other may share it. PostgreSQL
	// prepares what a statement evaluates, and no more.
	when    string
	kind    ruleKind
	name    string // as a constraint would be named
	cond    string // "": it refuses all on its path
	message []text
	hint    string
}

// conditions are all under which the rule refuses.
func (r rule) conditions() []string {
	list := slices.Clone(r.path)
	if r.when != "" {
		list = append(list, r.when)
	}
	return append(list, r.cond)
}

// ruleKind is the word in the message and the SQLSTATE.
type ruleKind struct{ word, code string }

var (
	kindEdge      = ruleKind{"edge", "FS001"}
	kindVersion   = ruleKind{"version", "FS002"}
	kindImmutable = ruleKind{"immutable", "FS003"}
	kindHistory   = ruleKind{"history", "FS004"}
	kindInvariant = ruleKind{"invariant", "FS005"}
	kindDelete    = ruleKind{"delete", "FS006"}
	kindReference = ruleKind{"reference", "FS007"}
	kindStep      = ruleKind{"step", "FS008"}
)

// text is a part of a message: words, or an expression whose value is shown.
// SQLite before 3.47 raises constant text only, so there the expression itself
// stands in the message.
type text struct {
	words string
	expr  string
	id    bool // the expression is the id of the row that the message is about
}

func words(s string) text { return text{words: s} }

func value(expr string) text { return text{expr: expr} }

// about opens a message with the owner, the id and the kind of the rule.
func about(owner, id string, kind ruleKind, what string, rest ...text) []text {
	return append([]text{words("fsmgen: " + owner), {expr: id, id: true}, words(": " + kind.word + ": " + what)}, rest...)
}

// insertRules judge a new record.
func insertRules(d dialect, m *ir.Machine) []rule {
	state, id := stateColumn(m), "NEW."+ident(m.ID.Text)
	list := []rule{{
		kind: kindVersion, name: ruleName(m.Text, "version"), cond: "NEW.version <> 1",
		message: about(m.Text, id, kindVersion, "a new record has version 1, not ", value("NEW.version")),
		hint:    "Set version to 1.",
	}, {
		kind: kindEdge, name: ruleName(m.Text, "edge"), cond: "NOT " + creationTest(m),
		message: about(m.Text, id, kindEdge, "no record is created by ", value("NEW.last_event"),
			words(" in "), value("NEW."+state)),
		hint: "Create the record through one of its creation events.",
	}}
	list = append(list, columnRules(d, m, creations(m))...)
	list = append(list, timeRules(m, creations(m))...)
	list = append(list, stepRules(d, m, nil)...)
	return append(list, stateRules(d, m, "NULL")...)
}

// creationTest is the condition that the new record is where a creation leads.
func creationTest(m *ir.Machine) string {
	created := edgesFrom(m, nil)
	if len(created.pairs) == 0 {
		return "false"
	}
	return "(\n" + created.condition("NEW.last_event", "NEW."+stateColumn(m), "            ") + ")"
}

// updateRules judge a step.
func updateRules(d dialect, m *ir.Machine) []rule {
	id := "OLD." + ident(m.ID.Text)
	list := []rule{{
		kind: kindVersion, name: ruleName(m.Text, "version"), cond: "NEW.version <> OLD.version + 1",
		message: about(m.Text, id, kindVersion, "a step leads from version ", value("OLD.version"),
			words(" to the next, not to "), value("NEW.version")),
		hint: "Set version = version + 1, once per step.",
	}}
	list = append(list, edgeRules(d, m)...)
	list = append(list, immutableRules(m)...)
	list = append(list, columnRules(d, m, moves(m))...)
	list = append(list, neverRules(d, m)...)
	list = append(list, timeRules(m, moves(m))...)
	for _, s := range m.States {
		list = append(list, stepRules(d, m, s)...)
	}
	return append(list, stateRules(d, m, "OLD."+stateColumn(m))...)
}

// immutableRules: the id and created_at never change, nor a write-once field that
// every record has. The others are columnRules' as well.
func immutableRules(m *ir.Machine) []rule {
	id := "OLD." + ident(m.ID.Text)
	var list []rule
	for _, c := range []string{ident(m.ID.Text), "created_at"} {
		list = append(list, rule{
			kind: kindImmutable, name: ruleName(m.Text, strings.Trim(c, `"`), "immutable"),
			cond: "NEW." + c + " IS DISTINCT FROM OLD." + c,
			message: about(m.Text, id, kindImmutable, c+" never changes, not from ", value("OLD."+c),
				words(" to "), value("NEW."+c)),
			hint: "Leave " + c + " as it is.",
		})
	}
	for _, f := range m.Fields {
		if f.Immutable && !f.Type.Optional {
			list = append(list, writeOnceRule(m.Text, id, f))
		}
	}
	return list
}

func changed(column string) string { return "NEW." + column + " IS DISTINCT FROM OLD." + column }

func writeOnceRule(owner, id string, f *ir.Field) rule {
	c := ident(f.Text)
	when, cond := "", changed(c)
	if f.Type.Optional {
		when, cond = cond, "OLD."+c+" IS NOT NULL"
	}
	return rule{
		kind: kindImmutable, name: ruleName(owner, f.Text, "immutable"), when: when, cond: cond,
		message: about(owner, id, kindImmutable, f.Text+" is written once, it stays ", value("OLD."+c),
			words(" and does not become "), value("NEW."+c)),
		hint: "Leave " + c + " as it is.",
	}
}

// neverRules forbid edges, unless all clauses of `unless` hold on the new
// record. A clause that SQL can't decide counts as true: the machine decides.
func neverRules(d dialect, m *ir.Machine) []rule {
	state, id := stateColumn(m), "OLD."+ident(m.ID.Text)
	var list []rule
	for _, inv := range m.Invariants {
		n := inv.Never
		if n == nil || n.From == nil {
			continue
		}
		conds, leftOut := triggerScope(d, m, "OLD."+state).all(n.Unless)
		cond := "OLD." + state + " = " + quote(n.From.Text) + " AND NEW." + state + among(n.To)
		switch {
		case len(conds) > 0:
			cond += "\n            AND NOT (" + strings.Join(conds, " AND ") + ")"
		case len(leftOut) > 0:
			continue
		}
		list = append(list, rule{
			comment: inv.Doc, kind: kindInvariant, name: ruleName(m.Text, inv.Text), cond: cond,
			message: about(m.Text, id, kindInvariant, inv.Text+" forbids ", value("OLD."+state),
				words(" to "), value("NEW."+state)),
			hint: unlessHint(n),
		})
	}
	return list
}

func unlessHint(n *ir.Never) string {
	if len(n.Unless) == 0 {
		return "This edge does not exist."
	}
	texts := make([]string, len(n.Unless))
	for i, c := range n.Unless {
		texts[i] = c.Text
	}
	return "Allowed only when: " + strings.Join(texts, ", ") + "."
}

// stateRules are what a CHECK can't say about the new record: holds that read
// the old state, and list elements in SQLite.
func stateRules(d dialect, m *ir.Machine, from string) []rule {
	state := stateColumn(m)
	var list []rule
	for _, s := range m.States {
		for _, c := range s.Holds {
			cond, ok := triggerScope(d, m, from).clause(c)
			if !ok || !triggerOnly(d, c) {
				continue
			}
			list = append(list, rule{
				kind: kindInvariant, name: ruleName(m.Text, s.Text, "holds"),
				cond: "NEW." + state + " = " + quote(s.Text) + " AND NOT (" + cond + ")",
				message: about(m.Text, "NEW."+ident(m.ID.Text), kindInvariant,
					s.Text+" demands "+c.Text),
				hint: "Make it true in the same step.",
			})
		}
	}
	return append(list, elementRules(d, m.Text, "NEW."+ident(m.ID.Text), Columns(m))...)
}

// triggerOnly reports whether c needs what only a trigger has: the old state,
// or in SQLite a subquery.
func triggerOnly(d dialect, c *ir.Clause) bool {
	return readsFrom(c) || c.Op == ir.Contains && !d.traits().arrays
}

// elementRules admit only elements of the list's type; SQLite's CHECK can't
// look into a JSON array.
func elementRules(d dialect, owner, id string, cols []Column) []rule {
	if d.traits().arrays {
		return nil // their type says what an element is
	}
	var list []rule
	for _, c := range cols {
		if c.Type.Base != ir.ListOf {
			continue
		}
		bad := badElement(*c.Type.Elem)
		if bad == "" {
			continue
		}
		list = append(list, rule{
			kind: kindInvariant, name: ruleName(owner, strings.Trim(c.Name, `"`), "elements"),
			cond: "json_valid(NEW." + c.Name + ") AND EXISTS (SELECT 1 FROM json_each(NEW." + c.Name + ") WHERE " + bad + ")",
			message: about(owner, id, kindInvariant, c.Name+" holds only "+c.Type.Elem.String()+", not ",
				value("NEW."+c.Name)),
			hint: "Store a JSON array of " + c.Type.Elem.String() + ".",
		})
	}
	return list
}

func badElement(t ir.Type) string {
	switch t.Base {
	case ir.Int, ir.Duration:
		return "type <> 'integer'"
	case ir.Bool:
		return "type NOT IN ('true', 'false')"
	case ir.EnumOf:
		return "type <> 'text' OR value NOT IN (" + quoteAll(enumWords(t.Enum)) + ")"
	case ir.ListOf:
		return "type <> 'array'"
	case ir.JSON:
		return ""
	case ir.String:
		return "type <> 'text'"
	case ir.Time:
		return "type <> 'text' OR NOT (" + sqliteTime("value") + ")"
	case ir.UUID:
		return "type <> 'text' OR NOT (" + sqliteScalar(t, "value") + ")"
	}
	panic(ir.NoForm("ddl.badElement", t.Base))
}
