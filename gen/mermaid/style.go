package mermaid

import (
	"strings"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// styleOf sets fill and text together, so it reads alike on a light and a
// dark page. It is empty for states that keep the reader's theme.
func styleOf(k ir.Kind) string {
	switch k {
	case ir.Initial:
		return "fill:#dbeafe,stroke:#1d4ed8,color:#172554"
	case ir.Operational:
		return ""
	case ir.Snapshot:
		return "fill:#fef9c3,stroke:#a16207,color:#422006"
	case ir.Success:
		return "fill:#dcfce7,stroke:#15803d,color:#052e16"
	case ir.Failed:
		return "fill:#fee2e2,stroke:#b91c1c,color:#450a0a"
	case ir.Terminal:
		return "fill:#e5e7eb,stroke:#374151,color:#111827"
	}
	panic(ir.NoForm("mermaid.styleOf", k))
}

// styles colours the states by kind and thickens the border of final ones.
func (d *drawing) styles() {
	for _, kind := range ir.Kinds() {
		if css := styleOf(kind); css != "" {
			d.class(string(kind), css, func(s *ir.State) bool { return s.Kind == kind })
		}
	}
	d.class("final", "stroke-width:4px", func(s *ir.State) bool { return s.Terminal })
	if d.hasWildcard() {
		d.line("classDef wildcard stroke-dasharray:4 4,font-style:italic")
		d.line("class " + anyState + " wildcard")
	}
}

func (d *drawing) class(name, css string, has func(*ir.State) bool) {
	var ids []string
	for _, s := range d.machine.States {
		if has(s) {
			ids = append(ids, d.ids[s])
		}
	}
	if len(ids) > 0 {
		d.line("classDef " + name + "State " + css)
		d.line("class " + strings.Join(ids, ",") + " " + name + "State")
	}
}
