package fsmgen_test

import (
	"database/sql"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/generated/outbox"
)

// TestEveryDialectHasAScript: the switches of gen/ddl do not ask whether a dialect has a
// script at all. Each dialect has one that is compiled, returned by Schema, shown on the pages
// and run by the tests of both SQLs. This is the recipe "A dialect" of CONTRIBUTING.md.
func TestEveryDialectHasAScript(t *testing.T) {
	t.Parallel()
	machines, err := filepath.Glob("generated/*/README.md")
	if err != nil {
		t.Fatal(err)
	}
	dialects := dialects(t)
	if len(dialects) < 2 || len(machines) < 10 {
		t.Fatalf("found the dialects %v and %d machines: the test looks in the wrong place", dialects, len(machines))
	}
	for _, name := range dialects {
		if scripts, _ := filepath.Glob("generated/*/" + name + ".sql"); len(scripts) != len(machines) {
			t.Errorf("%d of %d machines have a %s.sql: gen/compile.go adds it", len(scripts), len(machines), name)
		}
		if script, err := outbox.Define[*sql.Tx](nil, outbox.DefaultParams()).Schema(name); err != nil || script == "" {
			t.Errorf("Schema returns no script for %s, which gen/golang/definition.go adds: %v", name, err)
		}
		if page := readAll(t, "generated/outbox/README.md"); !strings.Contains(page, name+": ") {
			t.Errorf("the pages do not say what %s enforces, which gen/docs/enforce.go adds", name)
		}
		for file, has := range map[string]string{
			"gen/words_forms_test.go":       `"` + name + `.sql"`,
			"gen/golang/definition_test.go": `"` + name + `"`,
			"gen/ddl/database_test.go":      `t.Run("` + name + `"`,
			"proptest/databases.go":         `t.Run("` + name + `"`,
		} {
			if !strings.Contains(readAll(t, file), has) {
				t.Errorf("%s does not run on %s: it has no %s", file, name, has)
			}
		}
	}
}

// dialects lists the constants of the type of dialects.
func dialects(t *testing.T) (names []string) {
	t.Helper()
	for word, of := range vocabularies(t) {
		if of == dialectType {
			names = append(names, bare(word))
		}
	}
	slices.Sort(names)
	return names
}
