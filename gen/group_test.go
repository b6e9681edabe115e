package gen_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen"
)

// TestCrashTestsNameWhatGoesAlong: the tests that run a machine in an engine
// bring the machines that it starts, those whose tables it refers to, and one
// that starts it, and no other. In no module there are no such tests.
func TestCrashTestsNameWhatGoesAlong(t *testing.T) {
	paths, err := filepath.Glob("../spec/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no specs: %v", err)
	}
	var sources []gen.Source
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, gen.Source{Path: path, Data: data})
	}
	sources = append(sources, gen.Source{Path: "../spec/pair.yaml", Data: []byte(starts("pair", "twin"))}, gen.Source{Path: "../spec/twin.yaml", Data: []byte(starts("twin", ""))})
	along := func(o gen.Options) map[string]string {
		result, list, err := gen.Compile(sources, o)
		if err != nil || list.HasErrors() {
			t.Fatalf("%v %v", err, list.Sorted())
		}
		out := map[string]string{}
		for _, f := range result.Files {
			machine := filepath.Dir(f.Path)
			if f.Path != machine+"/"+machine+"_crash_test.go" {
				continue
			}
			var names []string
			for _, m := range regexp.MustCompile(`(\w+)\.Transitions\(\)`).FindAllSubmatch(f.Data, -1) {
				names = append(names, string(m[1]))
			}
			out[machine] = strings.Join(names, " ")
		}
		return out
	}
	if got := along(options); len(got) != 0 {
		t.Errorf("without an import path there are tests of %v", got)
	}
	o := options
	o.Packages = "example.com/shop/generated"
	got := along(o)
	for machine, want := range map[string]string{
		"upload": "upload", "deal": "deal transfer", "transfer": "transfer deal", "download": "download unpack activate", "unpack": "unpack download activate",
		"activate": "activate download unpack", "pair": "pair twin", "twin": "twin pair",
	} {
		if got[machine] != want {
			t.Errorf("the test of %s brings %q, want %q", machine, got[machine], want)
		}
	}
}

// starts is a machine that ends at once, and starts another one, if there is one.
func starts(name, other string) string {
	text := `machine: NAME
version: "1"
id: {NAME_id: uuid}
states:
  begun: {kind: initial}
  ended: {kind: success, terminal: true}
  given_up: {kind: error, terminal: true}
events: {finish: {}, give_up: {}}
`
	do := ""
	if other != "" {
		text += "effects: {next: {start: " + other + "}}\n"
		do = ", do: [next]"
	}
	text += `transitions:
  - {name: finish, from: begun, on: finish, to: endedDO}
  - {name: give_up, from: begun, on: give_up, to: given_up}
`
	return strings.NewReplacer("NAME", name, "DO", do).Replace(text)
}
