package crashtest_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/fsmgen/fsmgen/runtime/crashtest"
)

// The environment of a child process.
const (
	childDir   = "FSMGEN_CRASH_DIR"   // where its plan is
	childFile  = "FSMGEN_CRASH_FILE"  // the SQLite file
	childPlace = "FSMGEN_CRASH_PLACE" // the PostgreSQL schema
	childName  = "FSMGEN_CRASH_NAME"  // of one of several workers
)

// A process with a plan is a child that was started to be killed.
func TestMain(m *testing.M) {
	dir := os.Getenv(childDir)
	if dir == "" {
		os.Exit(m.Run())
	}
	var err error
	if schema := os.Getenv(childPlace); schema != "" {
		err = act(postgresIn(os.Getenv("FSMGEN_POSTGRES_DSN"), schema), dir)
	} else {
		err = act(sqliteAt(os.Getenv(childFile)), dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// act does what a child is for.
func act[Tx any](db crashtest.Database[Tx], dir string) error {
	if name := os.Getenv(childName); name != "" {
		return crashtest.Work(context.Background(), db, dir, name, os.Stdin)
	}
	return crashtest.Live(context.Background(), db, dir)
}

// program is what child processes run: this program; where it was built with the
// race detector, the same one without. There is nothing to race in a process
// with one worker, and SQLite in Go would take ten times as long.
func program(t *testing.T) string {
	t.Helper()
	if !raced {
		self, err := os.Executable()
		must(t, err)
		return self
	}
	file := filepath.Join(t.TempDir(), "child")
	if out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-race=false", "-o", file, ".").CombinedOutput(); err != nil {
		t.Fatalf("build the child: %v\n%s", err, out)
	}
	return file
}

// proof is what proves a database, whose place the variable tells to children
// that run a program.
func proof[Tx any](db crashtest.Database[Tx], program, variable, place string) crashtest.Proof[Tx] {
	child := func(ctx context.Context, dir string) *exec.Cmd {
		c := exec.CommandContext(ctx, program)
		c.Env = append(os.Environ(), childDir+"="+dir, variable+"="+place)
		return c
	}
	worker := func(ctx context.Context, dir, name string) *exec.Cmd {
		c := child(ctx, dir)
		c.Env = append(c.Env, childName+"="+name)
		return c
	}
	return crashtest.Proof[Tx]{Database: db, Child: child, Worker: worker, Every: crashtest.EveryFromEnv()}
}

func TestCrashSQLite(t *testing.T) {
	self := program(t)
	for _, name := range crashtest.Groups() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "crash.db")
			crashtest.Prove(t, name, proof(sqliteAt(file), self, childFile, file))
		})
	}
}

func TestCrashPostgres(t *testing.T) {
	dsn := postgresDSN(t)
	self := program(t)
	for _, name := range crashtest.Groups() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schema := newSchema(t, dsn)
			crashtest.Prove(t, name, proof(postgresIn(dsn, schema), self, childPlace, schema))
		})
	}
}
