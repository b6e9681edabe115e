package check

import (
	"fmt"
	"strings"

	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/ir"
)

const codeDefaultBounds = "FSM037"

// defaults reports defaults outside the bounds of their field, which no record
// and no event could have.
func (s *subject) defaults() {
	for _, f := range s.m.Fields {
		s.defaultWithin(f)
	}
	for _, e := range s.m.Events {
		for _, f := range e.Fields {
			s.defaultWithin(f)
		}
	}
	for _, t := range s.m.Tables {
		for _, c := range t.Columns {
			s.defaultWithin(c)
		}
	}
}

func (s *subject) defaultWithin(f *ir.Field) {
	if !f.HasDefault || domain.WithinBounds(f, f.Default) {
		return
	}
	var bounds []string
	if f.Min != nil {
		bounds = append(bounds, fmt.Sprintf("min %d", *f.Min))
	}
	if f.Max != nil {
		bounds = append(bounds, fmt.Sprintf("max %d", *f.Max))
	}
	what := "default " + show(f.Default)
	if text, ok := f.Default.(string); ok {
		what = fmt.Sprintf("default %s with %d characters", show(text), len([]rune(text)))
	}
	s.report(codeDefaultBounds, f.Span, "write a default within the bounds, or widen them", "field %q has the %s, outside %s", f.Text, what, strings.Join(bounds, " and "))
}
