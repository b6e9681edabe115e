package ir_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"

	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/syntax"
)

// TestVocabulariesAgree compares the words that gen/syntax accepts with those that
// gen/ir has a form for.
func TestVocabulariesAgree(t *testing.T) {
	var types, ops, deliveries []string
	for _, b := range ir.BaseTypes() {
		if b != ir.ListOf && b != ir.EnumOf {
			types = append(types, string(b))
		}
	}
	for _, op := range ir.Ops() {
		ops = append(ops, string(op))
	}
	for _, d := range ir.Deliveries() {
		deliveries = append(deliveries, string(d))
	}
	words := slices.DeleteFunc(syntax.Operators(), func(w string) bool { return w == "equals" || w == "not_equals" })
	agree(t, "type", syntax.Types(), types)
	agree(t, "operator", words, ops)
	agree(t, "delivery class", syntax.Deliveries(), deliveries)
}

func agree(t *testing.T, what string, written, meant []string) {
	t.Helper()
	for _, w := range written {
		if !slices.Contains(meant, w) {
			t.Errorf("%s %q is a word of gen/syntax without a form in gen/ir", what, w)
		}
	}
	for _, w := range meant {
		if !slices.Contains(written, w) {
			t.Errorf("%s %q of gen/ir can't be written: gen/syntax does not list it", what, w)
		}
	}
}

// TestVocabulariesAreWhole counts the constants of each vocabulary.
func TestVocabulariesAreWhole(t *testing.T) {
	listed := map[string]int{
		"Base": len(ir.BaseTypes()), "Op": len(ir.Ops()), "Delivery": len(ir.Deliveries()), "Special": len(ir.Specials()), "Kind": len(ir.Kinds()),
		"EffectKind": len(ir.EffectKinds()), "ExprKind": len(ir.ExprKinds()), "Side": len(ir.Sides()),
	}
	declared := constants(t, "value.go", "effect.go", "machine.go", "step.go")
	for name, n := range listed {
		if got := declared[name]; len(got) != n {
			t.Errorf("ir.%s has the values %v; its list has %d of them", name, got, n)
		}
	}
}

// constants lists the constants of each type in files.
func constants(t *testing.T, files ...string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			block, is := d.(*ast.GenDecl)
			if !is || block.Tok != token.CONST {
				continue
			}
			of := ""
			for _, s := range block.Specs {
				value := s.(*ast.ValueSpec)
				if id, typed := value.Type.(*ast.Ident); typed {
					of = id.Name
				}
				out[of] = append(out[of], value.Names[0].Name)
			}
		}
	}
	return out
}
