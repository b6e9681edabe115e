package golang

import (
	"regexp"
	"strconv"

	"github.com/dave/jennifer/jen"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/naming"
)

// patterns are the compiled regular expressions of a machine, the only
// variables of a generated package that are computed when it starts.
type patterns struct {
	name  map[*ir.Clause]string
	order []*ir.Clause // the first clause of each pattern
}

func newPatterns(m *ir.Machine) *patterns {
	p := &patterns{name: map[*ir.Clause]string{}}
	byText, used := map[string]string{}, map[string]int{}
	for _, c := range clauses(m) {
		if c.Op != ir.Matches {
			continue
		}
		text := c.Right.Literal.(string)
		name, ok := byText[text]
		if !ok {
			name = "pattern" + naming.Exported(c.Left.Text)
			if used[name]++; used[name] > 1 {
				name += strconv.Itoa(used[name])
			}
			byText[text] = name
			p.order = append(p.order, c)
		}
		p.name[c] = name
	}
	return p
}

// clauses lists every clause that generated code evaluates.
func clauses(m *ir.Machine) []*ir.Clause {
	var out []*ir.Clause
	for _, row := range m.Rows {
		out = append(out, row.When...)
	}
	for _, s := range m.States {
		out = append(out, s.Holds...)
	}
	for _, x := range m.Metrics {
		out = append(out, x.When...)
	}
	return out
}

// declare emits:
//
//	var patternObjectURI = regexp.MustCompile("^s3://")
func (p *patterns) declare(f *jen.File) {
	for _, c := range p.order {
		f.Comment("// " + p.name[c] + " is what " + c.Left.Text + " has to match.")
		f.Var().Id(p.name[c]).Op("=").Qual("regexp", "MustCompile").Call(jen.Lit(c.Right.Literal.(string)))
		f.Line()
	}
}

func matches(pattern, text string) bool {
	re, err := regexp.Compile(pattern)
	return err == nil && re.MatchString(text)
}
