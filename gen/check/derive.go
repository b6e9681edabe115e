package check

import "github.com/fsmgen/fsmgen/gen/ir"

const codeDerive = "FSM075"

// derives checks what computed fields are computed from: both databases store
// them as generated columns and Go computes them anew, so the parts must have
// one spelling everywhere and must not be computed themselves.
func (s *subject) derives() {
	for _, f := range s.m.Fields {
		if f.Derive == nil {
			continue
		}
		for _, p := range f.Derive.Parts {
			if p.Field != nil {
				s.derivePart(f, p.Field)
			}
		}
	}
}

func (s *subject) derivePart(f, part *ir.Field) {
	at := f.Derive.Span
	switch {
	case part.Derive != nil:
		s.report(codeDerive, at, "write out the parts of the other field", "field %q is derived from %q, which is derived itself", f.Text, part.Text)
	case !part.Type.Base.OneSpelling():
		s.report(codeDerive, at, "derive from fields of type string, uuid, int or an enum", "field %q is derived from %q of type %s, which Go and the databases spell differently", f.Text, part.Text, part.Type)
	case part.Type.Optional && !f.Type.Optional:
		s.report(codeDerive, at, "make the derived field optional, or its part required", "required field %q is derived from %q, which may be absent", f.Text, part.Text)
	case !part.Immutable && part.Index >= 0:
		s.report(codeDerive, at, "make the part `immutable: true`", "field %q is derived from %q, which may change: the name would change with it", f.Text, part.Text)
	}
}
