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

// Kill kills processes that run the subject, at every durability boundary that
// its table has, on SQLite and on the PostgreSQL that FSMGEN_POSTGRES_DSN names,
// and judges what is left. Without that variable this half is skipped, or fails
// where the parts are required.
//
// The processes are this test itself, in the program that runs it: t has to be
// that of the test function.
func Kill(t *testing.T, subject Subject) {
	t.Helper()
	if dir := os.Getenv(childDir); dir != "" {
		if err := child(t.Context(), subject, dir); err != nil {
			t.Fatal(err)
		}
		return
	}
	s, err := subject.story()
	if err != nil {
		t.Fatal(err)
	}
	self := program(t)
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "crash.db")
		prove(t, s, subject, proofOn(FileDatabase(file), self, childFile, file))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		dsn := pgtest.DSN(t)
		schema := pgtest.Schema(t, dsn)
		prove(t, s, subject, proofOn(Schema(dsn, schema), self, childSchema, schema))
	})
}

// child does what a child process is for.
func child(ctx context.Context, subject Subject, dir string) error {
	if schema := os.Getenv(childSchema); schema != "" {
		return act(ctx, Schema(os.Getenv(pgtest.Variable), schema), subject, dir)
	}
	return act(ctx, FileDatabase(os.Getenv(childFile)), subject, dir)
}

func act[Tx any](ctx context.Context, db Database[Tx], subject Subject, dir string) error {
	if name := os.Getenv(childName); name != "" {
		return work(ctx, db, subject, dir, name, os.Stdin)
	}
	return live(ctx, db, subject, dir)
}

// command is a program that runs one test.
type command struct{ path, test string }

// program is what child processes run: this program; where it was built with the
// race detector, the same one without. There is nothing to race in a process
// with one worker, and SQLite in Go would take ten times as long.
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

// proofOn is the proof on a database, whose place the variable tells to children.
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
	return proof[Tx]{database: db, child: child, worker: worker, every: everyFromEnv(), patience: lastResort}
}
