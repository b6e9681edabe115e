package gen_test

import (
	"fmt"

	"github.com/fsmgen/fsmgen/gen/diag"
	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/syntax"
)

// constructs are the places of the language where a type may stand, beside guards and
// expressions. What a type can't be is refused.
func constructs(base ir.Base) []word {
	v := values[base]
	all := []word{
		{
			name: "construct default", refused: noLiteral(base), docs: []string{"preset"},
			sections: map[string]string{"fields": fmt.Sprintf("  preset: {type: %s, default: %s}\n", v.written, written(base))},
		},
		{
			name: "construct param", refused: noLiteral(base), docs: []string{"setting"},
			sections: map[string]string{
				"params":      fmt.Sprintf("  setting: {type: %s, default: %s}\n", v.written, written(base)),
				"events":      "  configure: {}\n",
				"transitions": "  - {name: configured, from: open, on: configure, set: {x: $setting}}\n",
			},
		},
		{
			name: "construct immutable", docs: []string{"once", "once_only"},
			sections: map[string]string{
				"fields":      fmt.Sprintf("  once: {type: optional %s, immutable: true}\n", v.written),
				"events":      "  write_once: {writes: [optional once]}\n",
				"transitions": "  - {name: written_once, from: open, on: write_once}\n",
				"invariants":  "  once_only: {doc: it is written once, immutable: [once]}\n",
			},
		},
		{
			name: "construct fact", docs: []string{"fact"}, diagram: []string{"state_fact"},
			sections: map[string]string{
				"events":      fmt.Sprintf("  state_fact: {fields: {fact: %s}}\n", v.written),
				"transitions": "  - {name: fact_stated, from: open, on: state_fact, set: {x: $fact}}\n",
			},
		},
		{
			name: "construct raise", refused: noLiteral(base), docs: []string{"follow"}, diagram: []string{"raise follow"},
			sections: map[string]string{
				"events":      "  chain: {}\n  follow: {internal: true, writes: [x]}\n",
				"transitions": fmt.Sprintf("  - {name: chained, from: open, on: chain, raise: {follow: {x: %s}}}\n  - {name: followed, from: open, on: follow}\n", written(base)),
			},
		},
		{
			name: "construct always", refused: noLiteral(base), docs: []string{"paired"},
			sections: map[string]string{
				"fields":      fmt.Sprintf("  given: {type: %s, default: %s}\n", v.written, written(base)),
				"invariants":  "  paired: {doc: it is given, always: [given exists true]}\n",
				"events":      "  give: {writes: [given]}\n",
				"transitions": "  - {name: gave, from: open, on: give}\n",
			},
		},
		{
			name: "construct never", docs: []string{"guarded"},
			sections: map[string]string{
				"states":      "  vault: {kind: success, holds: [x exists true]}\n",
				"events":      "  unlock: {}\n",
				"transitions": "  - {name: unlocked, from: open, on: unlock, when: [x exists true], to: vault}\n  - {name: locked, from: vault, on: resume, to: open}\n",
				"invariants":  "  guarded: {doc: an open vault has x, never: {from: open, to: vault, unless: [x exists true]}}\n  held: {doc: an open vault has x, holds: vault}\n",
			},
		},
	}
	return append(append(all, restricted(base)...), wholeConstructs(base)...)
}

// restricted are constructs that the properties of a type allow or refuse.
func restricted(base ir.Base) []word {
	v := values[base]
	unique := word{
		name: "construct unique", docs: []string{"alone"},
		sections: map[string]string{"unique": "  alone: [y]\n", "invariants": "  alone_once: {doc: no two share it, unique: alone}\n"},
	}
	bounds := word{
		name: "construct bounds", docs: []string{"bounded"},
		sections: map[string]string{"fields": fmt.Sprintf("  bounded: {type: optional %s, min: 1, max: 5}\n", v.written), "events": "  bound: {writes: [optional bounded]}\n", "transitions": "  - {name: bounded_now, from: open, on: bound}\n"},
	}
	key := word{
		name: "construct key", docs: []string{"with_key"}, diagram: []string{"with_key"},
		sections: map[string]string{
			"events":      fmt.Sprintf("  with_key: {fields: {part: %s}, key: \"key:{part}\"}\n", v.written),
			"transitions": "  - {name: keyed_row, from: open, on: with_key}\n",
		},
	}
	derive := word{
		name: "construct derive", docs: []string{"derived"},
		sections: map[string]string{"fields": fmt.Sprintf("  origin: {type: optional %s, immutable: true}\n  derived: {type: optional string, derive: \"from-{origin}\"}\n", v.written)},
	}
	list := word{
		name: "construct list", docs: []string{"several", "list<" + v.written + ">"}, diagram: []string{"gather"},
		sections: map[string]string{
			"fields":      fmt.Sprintf("  several: optional list<%s>\n", v.written),
			"events":      "  gather: {writes: [optional several]}\n",
			"effects":     "  tell_several: {delivery: keyed, to: listener, with: {v: $several}}\n",
			"transitions": "  - {name: gathered, from: open, on: gather, do: [tell_several]}\n",
		},
	}
	if base == ir.ListOf || base == ir.JSON {
		list.refused = syntax.CodeShape
	}
	if !base.Bounded() {
		bounds.refused = ir.CodeType
	}
	if !base.OneSpelling() {
		derive.refused = "FSM075"
	}
	return []word{unique, bounds, key, derive, list}
}

// written is a literal of a type outside of guards.
func written(base ir.Base) string {
	if base == ir.ListOf {
		return "[" + values[base].literal + "]"
	}
	return values[base].literal
}

// noLiteral is what the checker says of a literal of a type that has none.
func noLiteral(base ir.Base) diag.Code {
	if base == ir.Time {
		return ir.CodeType
	}
	return ""
}
