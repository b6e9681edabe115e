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
	composed := []string{string(ir.ListOf), string(ir.EnumOf)} // no word: list<T>, and the name of an enum
	synonyms := []string{"equals", "not_equals"}
	agree(t, "type", syntax.Types(), slices.DeleteFunc(words(ir.BaseTypes()), among(composed)))
	agree(t, "operator", slices.DeleteFunc(syntax.Operators(), among(synonyms)), words(ir.Ops()))
	agree(t, "delivery class", choice(t, "effects", "delivery"), words(ir.Deliveries()))
	agree(t, "level", choice(t, "effects", "log"), words(ir.Levels()))
	agree(t, "kind of a state", choice(t, "states", "kind"), words(ir.Kinds()))
	agree(t, "source of an event", choice(t, "events", "source"), words(ir.EventSources()))
	agree(t, "type of a metric", choice(t, "metrics", "type"), words(ir.MetricTypes()))
	agree(t, "observation", choice(t, "metrics", "of"), slices.DeleteFunc(words(ir.Observations()), among([]string{string(ir.OfRows)})))
}

func words[W ~string](values []W) (out []string) {
	for _, v := range values {
		out = append(out, string(v))
	}
	return out
}

func among(list []string) func(string) bool {
	return func(w string) bool { return slices.Contains(list, w) }
}

// choice lists what the language allows at a key of the items of a section.
func choice(t *testing.T, section, key string) []string {
	t.Helper()
	words := at(t, at(t, syntax.Language(), section).Names, key).OneOf
	if len(words) == 0 {
		t.Fatalf("the language has no choice at %s.%s", section, key)
	}
	return words
}

func at(t *testing.T, shape *syntax.Shape, key string) *syntax.Shape {
	t.Helper()
	i := slices.IndexFunc(shape.Keys, func(k syntax.Key) bool { return k.Name == key })
	if i < 0 {
		t.Fatalf("the language has no key %q", key)
	}
	return shape.Keys[i].Shape
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
		"EventSource": len(ir.EventSources()), "Level": len(ir.Levels()), "MetricType": len(ir.MetricTypes()), "Observed": len(ir.Observations()),
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
