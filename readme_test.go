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
	"github.com/fsmgen/fsmgen/generated/transfer"
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

// TestReadmeShowsATestThatPasses: the test of the README is one of enginetest's own.
func TestReadmeShowsATestThatPasses(t *testing.T) {
	example, err := os.ReadFile("runtime/enginetest/example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	if shown := blocks(t, "README.md", "go")[2]; !strings.Contains(string(example), shown) {
		t.Errorf("runtime/enginetest/example_test.go does not have:\n%s", shown)
	}
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
	_, list, err := gen.Load([]gen.Source{{Path: "spec/order.yaml", Data: []byte(wrong)}})
	if err != nil {
		t.Fatal(err)
	}
	shown := string(diag.Text(list, diag.Sources{"spec/order.yaml": []byte(wrong)}, false))
	if !strings.Contains(readAll(t, "README.md"), strings.TrimSpace(shown)) {
		t.Errorf("the diagnostic in the README is not what is printed:\n%s", shown)
	}
}

// TestReadmeRunsWordForWord does what the README says in an empty folder: its
// commands, with its table and its program in the places that it names, and the
// last command twice. Only what a released version would need no word for differs:
// fsmgen is built from here, and init is told where it is.
func TestReadmeRunsWordForWord(t *testing.T) {
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	page := readAll(t, "README.md")
	commands := blocks(t, "README.md", "sh")
	if len(commands) != 2 {
		t.Fatalf("the README has %d blocks of commands, want those of the first machine and those that run it", len(commands))
	}
	tools := t.TempDir()
	build := exec.Command("go", "build", "-o", tools, "./cmd/fsmgen")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	shell := func(folder, script string) string {
		t.Helper()
		run := exec.Command("sh", "-e", "-c", script)
		run.Dir = folder
		run.Env = append(os.Environ(), "PATH="+tools+string(os.PathListSeparator)+os.Getenv("PATH"))
		var complaints strings.Builder
		run.Stderr = &complaints
		out, err := run.Output()
		if err != nil {
			t.Fatalf("%s\n%v\n%s%s", script, err, out, complaints.String())
		}
		return string(out)
	}
	folder := t.TempDir()
	first, installed := strings.CutPrefix(commands[0], "go install "+module+"/cmd/fsmgen@latest\n")
	if !installed {
		t.Fatalf("the first command does not install fsmgen:\n%s", commands[0])
	}
	shell(folder, strings.Replace(first, "fsmgen init order", "fsmgen init order --replace '"+root+"'", 1))

	shop := filepath.Join(folder, "shop")
	for path, text := range map[string]string{"spec/order.yaml": blocks(t, "README.md", "yaml")[0], "cmd/shop/main.go": blocks(t, "README.md", "go")[1]} {
		if !strings.Contains(page, "`"+path+"`") {
			t.Errorf("the README does not name %s", path)
		}
		path = filepath.Join(shop, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	generate, run, _ := strings.Cut(commands[1], "\n")
	shell(shop, generate)
	shell(shop, "go vet ./...")
	printed := shell(shop, run)
	if !strings.Contains(page, "```\n"+printed+"```") {
		t.Errorf("the README does not show what it prints:\n%s", printed)
	}
	line, _, _ := strings.Cut(printed, "\n")
	if again := shell(shop, run); again != line+"\n" {
		t.Errorf("a second run prints %q, want %q", again, line)
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
	e, err := engine.New[*sql.Tx](store, engine.Config{}, deal.Define[*sql.Tx](nil, deal.DefaultParams()), transfer.Define[*sql.Tx](nil, transfer.DefaultParams()))
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
	e, err := engine.New[pgx.Tx](store, engine.Config{}, deal.Define[pgx.Tx](nil, deal.DefaultParams()), transfer.Define[pgx.Tx](nil, transfer.DefaultParams()))
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
