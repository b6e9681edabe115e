package fsmgen_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fsmgen/fsmgen/adapters/postgres"
	"github.com/fsmgen/fsmgen/adapters/sqlite"
	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/gen/diag"
	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/internal/pgtest"
	"github.com/fsmgen/fsmgen/runtime/engine"
)

// blocks returns the code blocks of a page in one language.
func blocks(t *testing.T, page, language string) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllSubmatch(text, -1) {
		out = append(out, string(m[1]))
	}
	if len(out) == 0 {
		t.Fatalf("%s has no block of %s", page, language)
	}
	return out
}

// shop compiles the table of the README.
func shop(t *testing.T) gen.Result {
	t.Helper()
	options := gen.Options{Module: module, Specs: "../../spec"}
	spec := blocks(t, "README.md", "yaml")[0]
	result, list, err := gen.Compile([]gen.Source{{Path: "spec/order.yaml", Data: []byte(spec)}}, options)
	if err != nil || list.Len() > 0 {
		t.Fatalf("the table does not compile cleanly: %v %v", err, list.Sorted())
	}
	return result
}

// The README shows a table and the Go it yields: both are real.
func TestReadmeShowsWhatComesOut(t *testing.T) {
	code := strings.TrimSpace(blocks(t, "README.md", "go")[0])
	found := false
	for _, f := range shop(t).Files {
		found = found || strings.Contains(string(f.Data), code)
	}
	if !found {
		t.Errorf("this Go does not come out of the table:\n%s", code)
	}
	wrong := strings.Replace(blocks(t, "README.md", "yaml")[0], "to: paid,", "to: piad,", 1)
	_, list := gen.Load([]gen.Source{{Path: "spec/order.yaml", Data: []byte(wrong)}})
	shown := string(diag.Text(list, diag.Sources{"spec/order.yaml": []byte(wrong)}, false))
	if !strings.Contains(readAll(t, "README.md"), strings.TrimSpace(shown)) {
		t.Errorf("the diagnostic in the README is not what is printed:\n%s", shown)
	}
}

// The program of the README compiles, runs, and prints what it says.
func TestReadmeProgramRuns(t *testing.T) {
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	write := func(path string, data []byte) {
		t.Helper()
		path = filepath.Join(folder, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range shop(t).Files {
		write(filepath.Join("generated", f.Path), f.Data)
	}
	program := blocks(t, "README.md", "go")[1]
	write("main.go", []byte(program))
	write("go.mod", []byte("module shop\n\ngo 1.26\n\nrequire "+module+" v0.0.0\n\nreplace "+module+" => "+root+"\n"))
	write("go.sum", []byte(readAll(t, "go.sum")))
	run := exec.Command("go", "run", "-mod=mod", ".")
	run.Dir = folder
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(readAll(t, "README.md"), "```\n"+string(out)+"```") {
		t.Errorf("the README does not show what it prints:\n%s", out)
	}
}

// Every query of docs/operating.md is one that the database understands.
func TestOperatingQueriesRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "deals.db")
	store, err := sqlite.Open(t.Context(), file, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	e, err := engine.New[*sql.Tx](store, engine.Config{}, deal.Define[*sql.Tx](nil, deal.DefaultParams()))
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	err = store.InTx(t.Context(), func(tx *sql.Tx) error { return explainAll(t.Context(), tx, blocks(t, "docs/operating.md", "sql")) })
	if err != nil {
		t.Error(err)
	}
}

// What docs/operating.md says for PostgreSQL alone runs there.
func TestOperatingCommandsRun(t *testing.T) {
	dsn := pgtest.DSN(t)
	options := postgres.Options{Schema: pgtest.Schema(t, dsn)}
	config, err := postgres.PoolConfig(dsn, options)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	store, err := postgres.New(pool, options)
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New[pgx.Tx](store, engine.Config{}, deal.Define[pgx.Tx](nil, deal.DefaultParams()))
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, block := range blocks(t, "docs/operating.md", "psql") {
		if _, err := pool.Exec(t.Context(), block); err != nil {
			t.Errorf("%s\n%v", block, err)
		}
	}
}

func explainAll(ctx context.Context, tx *sql.Tx, blocks []string) error {
	for _, block := range blocks {
		for query := range strings.SplitSeq(strings.TrimSpace(block), ";") {
			if strings.TrimSpace(query) == "" {
				continue
			}
			if _, err := tx.ExecContext(ctx, "EXPLAIN "+query); err != nil {
				return fmt.Errorf("%s: %w", query, err)
			}
		}
	}
	return nil
}
