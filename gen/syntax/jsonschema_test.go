package syntax_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"github.com/fsmgen/fsmgen/gen/syntax"
)

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := syntax.JSONSchema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("fsmgen.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("fsmgen.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func validate(t *testing.T, s *jsonschema.Schema, text []byte) error {
	t.Helper()
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return s.Validate(v)
}

// An editor that knows the schema finds no fault in the ten specs.
func TestSpecsFollowTheJSONSchema(t *testing.T) {
	s := compileSchema(t)
	specs, err := filepath.Glob("../../spec/*.yaml")
	if err != nil || len(specs) < 10 {
		t.Fatalf("found %d specs: %v", len(specs), err)
	}
	for _, path := range specs {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(t, s, text); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if !bytes.HasPrefix(text, []byte("# yaml-language-server: $schema=fsmgen.schema.json\n")) {
			t.Errorf("%s lacks the modeline that tells editors of the schema", path)
		}
	}
}

// What the parser refuses for its shape, the schema refuses.
func TestJSONSchemaRefusesWrongShapes(t *testing.T) {
	s := compileSchema(t)
	for _, edit := range [][2]string{
		{"version: 1.0.0", "verzion: 1.0.0"},
		{"kind: initial", "kind: start"},
		{"to: shut}", "to: shut, priority: high}"},
		{"to: shut}", "to: [shut]}"},
		{"  shut: {kind: initial}", "  - shut"},
	} {
		text := strings.Replace(whole, edit[0], edit[1], 1)
		if err := validate(t, s, []byte(text)); err == nil {
			t.Errorf("the schema accepts %q", edit[1])
		}
		if _, problems := parse(text); len(problems) == 0 {
			t.Errorf("the parser accepts %q", edit[1])
		}
	}
}
