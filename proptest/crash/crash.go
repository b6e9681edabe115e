package crash

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/fsmgen/fsmgen/internal/pgtest"
)

// The environment of a child process.
const (
	childDir    = "FSMGEN_CRASH_DIR"    // where its plan is
	childFile   = "FSMGEN_CRASH_FILE"   // the SQLite file
	childSchema = "FSMGEN_CRASH_SCHEMA" // the PostgreSQL schema
	childName   = "FSMGEN_CRASH_NAME"   // of one of several workers
)

// Kill kills processes that run the subject, at every durability boundary of its table,
// on SQLite and on the PostgreSQL that FSMGEN_POSTGRES_DSN names, and checks what is
// left. Without that variable the PostgreSQL half is skipped, or fails if the parts are
// required.
//
// The processes run the same test in the same program: t must be that of the test
// function.
func Kill(t *testing.T, subject Subject) {
	t.Helper()
	if dir := os.Getenv(childDir); dir != "" {
		if err := child(t.Context(), subject, dir); err != nil {
			t.Fatal(err)
		}
		return
	}
	set, err := subject.scenarioSet()
	if err != nil {
		t.Fatal(err)
	}
	self := program(t)
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "crash.db")
		prove(t, set, subject, proofOn(FileDatabase(file), self, childFile, file))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		dsn := pgtest.DSN(t)
		schema := pgtest.Schema(t, dsn)
		prove(t, set, subject, proofOn(Schema(dsn, schema), self, childSchema, schema))
	})
}

// child is the main function of a child process.
func child(ctx context.Context, subject Subject, dir string) error {
	if schema := os.Getenv(childSchema); schema != "" {
		return childMain(ctx, Schema(os.Getenv(pgtest.Variable), schema), subject, dir)
	}
	return childMain(ctx, FileDatabase(os.Getenv(childFile)), subject, dir)
}

func childMain[Tx any](ctx context.Context, db Database[Tx], subject Subject, dir string) error {
	if name := os.Getenv(childName); name != "" {
		return runWorker(ctx, db, subject, dir, name, os.Stdin)
	}
	return runScenarios(ctx, db, subject, dir)
}

// command is a program that runs one test.
type command struct{ path, test string }

// program returns the program that child processes run: this program, or, if it was built
// with the race detector, the same program without it. A process with one worker has
// nothing to race, and SQLite in Go would take ten times as long.
func program(t *testing.T) command {
	t.Helper()
	c := command{test: "^" + t.Name() + "$"}
	if !raced {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		c.path = self
		return c
	}
	c.path = filepath.Join(t.TempDir(), "child")
	if out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-race=false", "-o", c.path, ".").CombinedOutput(); err != nil {
		t.Fatalf("build the child: %v\n%s", err, out)
	}
	return c
}

// proofOn returns the proof on a database. The variable tells its place to the children.
func proofOn[Tx any](db Database[Tx], c command, variable, place string) proof[Tx] {
	child := func(ctx context.Context, dir string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, c.path, "-test.run="+c.test)
		cmd.Env = append(os.Environ(), childDir+"="+dir, variable+"="+place)
		return cmd
	}
	worker := func(ctx context.Context, dir, name string) *exec.Cmd {
		cmd := child(ctx, dir)
		cmd.Env = append(cmd.Env, childName+"="+name)
		return cmd
	}
	return proof[Tx]{database: db, child: child, worker: worker, every: everyFromEnv()}
}
