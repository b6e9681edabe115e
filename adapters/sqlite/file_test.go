package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/adapters/sqlite"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// write runs a statement in a transaction of the store.
func write(s *sqlite.Store, statement string, args ...any) error {
	return s.InTx(context.Background(), func(tx *sql.Tx) error {
		_, err := tx.Exec(statement, args...)
		return err
	})
}

// migrated opens a store with the engine's tables, which take rows of machines that
// are not there.
func migrated(t *testing.T, path string, o sqlite.Options) *sqlite.Store {
	t.Helper()
	s := open(t, path, o)
	err := s.Migrate(t.Context(), nil)
	for _, table := range []string{"fsm_outbox", "fsm_deadlines", "fsm_keys"} {
		err = errors.Join(err, write(s, "DROP TRIGGER "+table+"_cause"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// wants fails the test unless err is target and a failure of the store.
func wants(t *testing.T, err, target error) {
	t.Helper()
	if !errors.Is(err, target) || !errors.Is(err, store.ErrStore) {
		t.Fatalf("the error is %v, want %v", err, target)
	}
}

// sent is a message for record r of a machine m.
func sent(n string) store.Commit {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	c := store.Commit{Machine: "m", ID: "r", Outbox: []store.OutboxMessage{{
		MessageID: n, Machine: "m", RecordID: "r", Seq: int(n[0])<<8 + len(n), Effect: "e", Destination: n, Delivery: "keyed", Payload: []byte(`{}`), CreatedAt: at,
	}}}
	c.Outbox[0].State, c.Outbox[0].AvailableAt.V, c.Outbox[0].AvailableAt.IsSet = "pending", at, true
	return c
}

func save(s *sqlite.Store, commits ...store.Commit) error {
	ctx := context.Background()
	return s.InTx(ctx, func(tx *sql.Tx) error { return s.Save(ctx, tx, commits) })
}

func TestDiskFullIsATypedErrorAndLosesNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s := migrated(t, path, sqlite.Options{MaxBytes: 256 << 10})
	if err := save(s, sent("before")); err != nil {
		t.Fatal(err)
	}
	big := sent("big")
	big.Outbox[0].Payload = []byte(`"` + strings.Repeat("x", 512<<10) + `"`)
	wants(t, save(s, big), sqlite.ErrFull)
	if err := save(s, sent("after")); err != nil { // the store goes on
		t.Fatal(err)
	}
	if n := count(t, path, "fsm_outbox"); n != 2 {
		t.Fatalf("there are %d messages", n)
	}
}

func TestFileGone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s := migrated(t, path, sqlite.Options{})
	if err := os.Rename(path, path+".moved"); err != nil {
		t.Fatal(err)
	}
	wants(t, save(s, sent("a")), sqlite.ErrGone)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wants(t, save(s, sent("a")), sqlite.ErrGone) // another file is not it
	if err := errors.Join(os.Remove(path), os.Rename(path+".moved", path)); err != nil {
		t.Fatal(err)
	}
	if err := save(s, sent("a")); err != nil {
		t.Fatal(err)
	}
	if n := count(t, path, "fsm_outbox"); n != 1 {
		t.Fatalf("there are %d messages", n)
	}
}

func TestUnopenableFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	noise := filepath.Join(folder, "noise.db")
	if err := os.WriteFile(noise, []byte(strings.Repeat("not a database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{
		filepath.Join(folder, "none", "store.db"): sqlite.ErrGone,
		folder: sqlite.ErrGone,
		noise:  sqlite.ErrDamaged,
	} {
		_, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		wants(t, err, want)
	}
}

func TestNamesThatNeedEscaping(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a b?c#d%20&_query_only=1.db")
	s := migrated(t, path, sqlite.Options{})
	if err := save(s, sent("a")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	for name, o := range map[string]sqlite.Options{
		"BusyTimeout": {BusyTimeout: -1}, "Readers": {Readers: -1}, "MaxBytes": {MaxBytes: -1}, "Synchronous": {Synchronous: "OFF"},
	} {
		if _, err := sqlite.Open(t.Context(), path, o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	for _, path := range []string{"", ":memory:"} {
		if _, err := sqlite.Open(t.Context(), path, sqlite.Options{}); err == nil {
			t.Errorf("a store was opened in %q", path)
		}
	}
}

// TestAnotherProcessThatMakesTheFile: the second process waits, although SQLite
// does not while it turns the write-ahead log on.
func TestAnotherProcessThatMakesTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	db := raw(t, path)
	if _, err := db.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	_, err := sqlite.Open(t.Context(), path, sqlite.Options{BusyTimeout: time.Millisecond})
	wants(t, err, sqlite.ErrBusy)
	opened := make(chan error)
	go func() {
		s, err := sqlite.Open(t.Context(), path, sqlite.Options{BusyTimeout: time.Hour})
		if err == nil {
			err = s.Close()
		}
		opened <- err
	}()
	if _, err := db.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

func TestAnotherProcessThatKeepsTheLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s := migrated(t, path, sqlite.Options{BusyTimeout: time.Millisecond})
	db := raw(t, path)
	for _, statement := range []string{"BEGIN IMMEDIATE", "UPDATE fsm_outbox SET worker = 'x'"} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	wants(t, save(s, sent("a")), sqlite.ErrBusy)
	if _, err := s.Read(t.Context(), store.Read{Kind: store.ReadDeadLetters, Limit: 1}); err != nil {
		t.Fatalf("a read waited for the writer: %v", err)
	}
	if _, err := db.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := save(s, sent("a")); err != nil {
		t.Fatal(err)
	}
}

// TestWaitingEndsWithTheContext has another process keep the lock for longer than the
// caller has time, and the store much more.
func TestWaitingEndsWithTheContext(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s := migrated(t, path, sqlite.Options{BusyTimeout: time.Hour})
	if _, err := raw(t, path).Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	wants(t, s.InTx(ctx, func(*sql.Tx) error { return nil }), context.DeadlineExceeded)
}

// TestACallersOwnConnection saves in a transaction that the store did not
// begin.
func TestACallersOwnConnection(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s := migrated(t, path, sqlite.Options{})
	tx, err := raw(t, path).Begin()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Save(t.Context(), tx, []store.Commit{sent("a")}); err != nil {
		t.Fatal(err)
	}
	if n := count(t, path, "fsm_outbox"); n != 0 {
		t.Fatalf("before the commit there are %d messages", n)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if n := count(t, path, "fsm_outbox"); n != 1 {
		t.Fatalf("there are %d messages", n)
	}
}

// TestAReadThatWentStale has a transaction read, another write, and the first
// write after that: it would build on what is not there any more.
func TestAReadThatWentStale(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s := migrated(t, path, sqlite.Options{})
	tx, err := raw(t, path).Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	var n int
	if err := tx.QueryRow("SELECT count(*) FROM fsm_outbox").Scan(&n); err != nil {
		t.Fatal(err)
	}
	if err := save(s, sent("a")); err != nil {
		t.Fatal(err)
	}
	if err := s.Save(t.Context(), tx, []store.Commit{sent("b")}); !errors.Is(err, store.ErrConflict) {
		t.Fatalf("the error is %v, want a conflict", err)
	}
}

// TestBrokenJSONIsItsOwnTask breaks a message by hand: it is claimed with an
// error that names it, and the others as they are.
func TestBrokenJSONIsItsOwnTask(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s := migrated(t, path, sqlite.Options{})
	if err := save(s, sent("a"), sent("b")); err != nil {
		t.Fatal(err)
	}
	execUnchecked(t, path, "fsm_outbox", "UPDATE fsm_outbox SET payload = '{' WHERE message_id = 'a'")
	destinations := []store.Destination{
		{Machine: "m", Name: "a", Effects: []string{"e"}, Most: 9},
		{Machine: "m", Name: "b", Effects: []string{"e"}, Most: 9},
	}
	tasks, err := s.Claim(t.Context(), store.Claim{Now: time.Now(), Until: time.Now().Add(time.Minute), Destinations: destinations, Effects: 9})
	if err != nil || len(tasks) != 2 {
		t.Fatalf("claimed %v, %v", tasks, err)
	}
	for _, task := range tasks {
		var corrupt *store.CorruptError
		broken := errors.As(task.Err, &corrupt) && corrupt.Machine == "m" && corrupt.ID == "r"
		if broken != (task.Effect.MessageID == "a") {
			t.Errorf("message %s has the error %v", task.Effect.MessageID, task.Err)
		}
	}
	page, err := s.Read(t.Context(), store.Read{Kind: store.ReadMessage, MessageID: "a", Limit: 1})
	if err != nil || len(page.Messages) != 1 || page.Messages[0].Effect != "e" {
		t.Errorf("read %+v, %v", page, err)
	}
}

func TestBlobsWhereTextBelongs(t *testing.T) {
	t.Parallel()
	s := migrated(t, filepath.Join(t.TempDir(), "store.db"), sqlite.Options{})
	// STRICT: what is no text is no state.
	err := write(s, "INSERT INTO fsm_keys (machine, key, record_id, event, version, created_at) VALUES ('m', 'k', 'r', 'e', ?, 'x')", "seven")
	if err == nil {
		t.Fatal("a text was stored as a version")
	}
}

// TestAKeyIsNotReplaced: INSERT OR REPLACE deletes what is in its way, and no
// trigger sees it.
func TestAKeyIsNotReplaced(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s := migrated(t, path, sqlite.Options{})
	const insert = " INTO fsm_keys (machine, key, record_id, event, version, created_at) VALUES ('m', 'k', ?, 'e', 1, 'x')"
	if err := errors.Join(write(s, "INSERT"+insert, "first"), write(s, "INSERT OR REPLACE"+insert, "second")); err != nil {
		t.Fatal(err)
	}
	if n := count(t, path, "fsm_keys WHERE record_id = 'first'"); n != 1 {
		t.Error("the key was replaced")
	}
}
