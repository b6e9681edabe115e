package ddl_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/parts"
	"github.com/fsmgen/fsmgen/internal/pgtest"
)

// What becomes of the function that judges a record when people work on the
// tables.

const badPoints = "sample_points_range: points is 11, not between 0 and 10"

// TestPostgresRulesJudgeInOrder: of several broken rules the first one speaks.
func TestPostgresRulesJudgeInOrder(t *testing.T) {
	db := openPostgres(t)
	db.create(t, sample(t))
	err := db.try(t, newSample(row{"points": "11", "goal": "101", "grade": "'best'"}))
	if err == nil || !strings.Contains(err.Error(), badPoints) {
		t.Errorf("got %v, want %q", err, badPoints)
	}
}

// TestPostgresRulesLetUnknownPass, as a CHECK does.
func TestPostgresRulesLetUnknownPass(t *testing.T) {
	db := openPostgres(t)
	db.create(t, sample(t))
	absent := row{"grade": "NULL", "starts_at": "NULL", "topics": "NULL", "marks": "NULL"}
	if err := db.try(t, newSample(absent)); err != nil {
		t.Error(err)
	}
}

// TestPostgresRulesOutliveNewColumns that an operator adds by hand.
func TestPostgresRulesOutliveNewColumns(t *testing.T) {
	db := openPostgres(t)
	db.create(t, sample(t))
	db.commit(t, created, opened)
	db.must(t, "ALTER TABLE samples ADD COLUMN mine text NOT NULL DEFAULT 'm'")
	if err := db.try(t, started); err != nil {
		t.Errorf("a good step is refused: %v", err)
	}
	if err := db.try(t, step("start", "running")); err == nil || !strings.Contains(err.Error(), "sample_running_holds") {
		t.Errorf("got %v", err)
	}
}

// TestPostgresRulesOutliveADump: a dump restores into a new schema, rows first,
// without a search path, and the rules are there again.
func TestPostgresRulesOutliveADump(t *testing.T) {
	db := openPostgres(t)
	db.create(t, sample(t))
	db.commit(t, created, opened, started, told("2", "start", "'open'", "running", nil), result.insert("results"), diploma.insert("diplomas"))
	schema := db.text(t, "SELECT current_schema()")
	var said bytes.Buffer
	dump := exec.CommandContext(t.Context(), pgDump(t), "--dbname="+pgtest.DSN(t), "--schema="+schema, "--inserts")
	dump.Stderr = &said
	text, err := dump.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &said)
	}
	db.must(t, "DROP SCHEMA "+schema+" CASCADE")
	if err := db.exec(forPsql.ReplaceAllString(string(text), "")); err != nil {
		t.Fatalf("restore: %v", err)
	}
	db.must(t, "SET search_path = "+schema)
	if err := db.try(t, step("close", "closed"), told("3", "close", "'running'", "closed", nil)); err != nil {
		t.Errorf("a good step is refused: %v", err)
	}
	if err := db.try(t, step("answer", "running", "points = 11")); err == nil || !strings.Contains(err.Error(), badPoints) {
		t.Errorf("got %v, want %q", err, badPoints)
	}
}

// forPsql are lines of a dump that psql keeps for itself.
var forPsql = regexp.MustCompile(`(?m)^\\.*$`)

// pgDump is the newest pg_dump, which stands beside the server's programs.
func pgDump(t *testing.T) string {
	t.Helper()
	if bin := os.Getenv("PG_BIN"); bin != "" {
		return filepath.Join(bin, "pg_dump")
	}
	if path, err := exec.LookPath("pg_dump"); err == nil {
		return path
	}
	debian, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pg_dump") // the pattern is well formed
	if len(debian) == 0 {
		parts.Missing(t, "pg_dump is neither in PG_BIN, on the PATH, nor in /usr/lib/postgresql/*/bin")
	}
	return slices.Max(debian)
}
