package crashtest_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/fsmgen/fsmgen/runtime/crashtest"
)

// The environment of a child process.
const (
	childDir   = "FSMGEN_CRASH_DIR"   // where its plan is
	childFile  = "FSMGEN_CRASH_FILE"  // the SQLite file
	childPlace = "FSMGEN_CRASH_PLACE" // the PostgreSQL schema
)

// A process with a plan is a child that was started to be killed.
func TestMain(m *testing.M) {
	dir := os.Getenv(childDir)
	if dir == "" {
		os.Exit(m.Run())
	}
	live := func() error { return crashtest.Live(context.Background(), sqliteAt(os.Getenv(childFile)), dir) }
	if schema := os.Getenv(childPlace); schema != "" {
		live = func() error {
			return crashtest.Live(context.Background(), postgresIn(os.Getenv("FSMGEN_POSTGRES_DSN"), schema), dir)
		}
	}
	if err := live(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child is this program with something in its environment.
func child(variable, value string) func(ctx context.Context, dir string) *exec.Cmd {
	return func(ctx context.Context, dir string) *exec.Cmd {
		c := exec.CommandContext(ctx, os.Args[0])
		c.Env = append(os.Environ(), childDir+"="+dir, variable+"="+value)
		return c
	}
}

func TestCrashSQLite(t *testing.T) {
	for _, name := range crashtest.Groups() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := t.TempDir() + "/crash.db"
			crashtest.Prove(t, name, crashtest.Proof[sqliteTx]{Database: sqliteAt(file), Child: child(childFile, file), Every: crashtest.EveryFromEnv()})
		})
	}
}

func TestCrashPostgres(t *testing.T) {
	dsn := postgresDSN(t)
	for _, name := range crashtest.Groups() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schema := newSchema(t, dsn)
			crashtest.Prove(t, name, crashtest.Proof[postgresTx]{Database: postgresIn(dsn, schema), Child: child(childPlace, schema), Every: crashtest.EveryFromEnv()})
		})
	}
}
