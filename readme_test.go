package fsmgen_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/gen/diag"
)

// The README shows a table and the Go it yields: both are real.
func TestReadmeShowsWhatComesOut(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	block := func(language string) string {
		m := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindSubmatch(text)
		if m == nil {
			t.Fatalf("no block of %s", language)
		}
		return string(m[1])
	}
	options := gen.Options{Module: module, Specs: "../../spec"}
	spec := block("yaml")
	result, list, err := gen.Compile([]gen.Source{{Path: "spec/order.yaml", Data: []byte(spec)}}, options)
	if err != nil || list.Len() > 0 {
		t.Fatalf("the table does not compile cleanly: %v %v", err, list.Sorted())
	}
	code := strings.TrimSpace(block("go"))
	found := false
	for _, f := range result.Files {
		found = found || strings.Contains(string(f.Data), code)
	}
	if !found {
		t.Errorf("this Go does not come out of the table:\n%s", code)
	}
	wrong := strings.Replace(spec, "to: paid,", "to: piad,", 1)
	sources := []gen.Source{{Path: "spec/order.yaml", Data: []byte(wrong)}}
	_, list = gen.Load(sources)
	shown := string(diag.Text(list, diag.Sources{"spec/order.yaml": []byte(wrong)}, false))
	if !strings.Contains(string(text), strings.TrimSpace(shown)) {
		t.Errorf("the diagnostic in the README is not what is printed:\n%s", shown)
	}
}
