package gen_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/internal/pgtest"
)

// wordsRun is the program that runs the generated tests of each machine where they
// belong. It stands in their module: one program is linked for all of them.
const wordsRun = `package words

import (
	"testing"

%s)

func TestWords(t *testing.T) {
	for _, m := range []struct {
		name  string
		tests map[string]func(*testing.T)
	}{
%s	} {
		t.Run(m.name, func(t *testing.T) {
			t.Chdir("generated/" + m.name)
			for name, test := range m.tests {
				t.Run(name, test)
			}
		})
	}
}
`

// proofs are the generated tests that compare the stages: the interpreter, the checker's
// reading of the table, generated Go, SQLite and PostgreSQL.
var proofs = []string{"TestEquivalence", "TestTable", "TestLegal", "TestDatabases", "TestProperties"}

// TestWordsDecideAlike compiles, for each type, one machine that has every word of the
// closed vocabularies and one of what decides about a whole machine, and runs their generated tests: the interpreter, Go, SQLite and, at
// FSMGEN_POSTGRES_DSN, PostgreSQL decide alike.
func TestWordsDecideAlike(t *testing.T) {
	fetchModules(t)
	module := t.TempDir()
	writeModule(t, module, "words")
	machines := writeWords(t, module)
	args := []string{"test", "-json", "-vet=off", "-timeout", "20m"}
	if os.Getenv(pgtest.Variable) == "" {
		args = append(args, "-skip", "///^postgres$")
	}
	out, err := goCommand(t, module, append(args, ".")...).Output()
	told, passed := outcomes(out)
	for _, name := range machines {
		t.Run(name, func(t *testing.T) {
			if !passed[name] {
				t.Errorf("%v\n%s", err, told[name])
			}
		})
	}
	if err != nil && !t.Failed() {
		t.Errorf("go test: %v\n%s", err, told[""])
	}
}

// writeWords compiles the machines of the types into a module, and the program that
// runs their tests. A word that does not compile is left out: [TestEveryWordHasItsForms]
// names it.
func writeWords(t *testing.T, module string) (machines []string) {
	t.Helper()
	var sources []gen.Source
	for _, base := range ir.BaseTypes() {
		whole, rest := usable(base)
		sources = append(sources, table(base, rest...), table(base, whole...), begun(base))
	}
	result, list, err := gen.Compile(sources, gen.Options{Module: "github.com/fsmgen/fsmgen", Specs: "../../spec"})
	if err != nil {
		t.Fatal(err)
	}
	if list.HasErrors() {
		t.Fatalf("the checker refuses it:%s", render(list.Sorted()))
	}
	for _, s := range sources {
		writeFile(t, module, "spec/"+s.Path, s.Data)
	}
	for _, f := range result.Files {
		path := strings.Replace(f.Path, "_test.go", "_proofs.go", 1) // so that another package may call them
		writeFile(t, module, "generated/"+path, f.Data)
	}
	var imports, runs strings.Builder
	for _, m := range result.Machines {
		fmt.Fprintf(&imports, "\t%q\n", "words/generated/"+m.Text)
		fmt.Fprintf(&runs, "\t\t{%q, map[string]func(*testing.T){", m.Text)
		for _, proof := range proofs {
			fmt.Fprintf(&runs, "%q: %s.%s, ", proof, m.Text, proof)
		}
		runs.WriteString("}},\n")
		machines = append(machines, m.Text)
	}
	writeFile(t, module, "words_test.go", fmt.Appendf(nil, wordsRun, imports.String(), runs.String()))
	return machines
}

// usable are the words that a type can have and that compile: those that decide about the whole
// machine, and the rest.
func usable(base ir.Base) (whole, rest []word) {
	for _, w := range wordsOf(base) {
		if w.sections == nil || w.refused != "" {
			continue
		}
		if _, list, err := gen.Load([]gen.Source{table(base, w), begun(base)}); err != nil || list.HasErrors() {
			continue
		}
		if w.whole {
			whole = append(whole, w)
		} else {
			rest = append(rest, w)
		}
	}
	return whole, rest
}

// outcomes reads what go test -json prints: what each machine told, and which passed.
// What belongs to none is told under "".
func outcomes(out []byte) (told map[string]string, passed map[string]bool) {
	told, passed = map[string]string{}, map[string]bool{}
	for line := range bytes.Lines(out) {
		var event struct{ Action, Test, Output string }
		if json.Unmarshal(line, &event) != nil {
			told[""] += string(line)
			continue
		}
		path := strings.Split(event.Test, "/")
		machine := ""
		if len(path) > 1 {
			machine = path[1]
		}
		told[machine] += event.Output
		if event.Action == "pass" && len(path) == 2 {
			passed[machine] = true
		}
	}
	return told, passed
}
