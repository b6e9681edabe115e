package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary be the worker process too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == workerCommand {
		if err := work(context.Background(), os.Args[2:], os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, "worker:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// expected says in which states the records of a machine may come to rest, and
// how many of ten become dead letters that stay.
var expected = []struct {
	machine string
	rest    []string
	dead    int
}{
	{"deal", []string{"COMPLETED_RELEASED", "CANCELLED", "REFUNDED", "EXPIRED"}, 0},
	{"registration", []string{"registered", "deregistered"}, 0},
	{"download", []string{"COMPLETE", "aborted"}, 0},
	{"unpack", []string{"COMPLETE", "aborted"}, 0},
	{"activate", []string{"COMPLETE", "aborted"}, 0},
	{"upload", []string{"committed", "aborted"}, 0},
	{"publish", []string{"published", "tombstoned"}, 0},
	{"gc", []string{"live", "deleted"}, 1},
	{"outbox", []string{"delivered", "dead_letter"}, 0},
	{"wal", []string{"succeeded", "quarantined"}, 1},
	{"transfer", []string{"CONFIRMED"}, 0},
}

func TestDemo(t *testing.T) {
	const records = 10
	folder := t.TempDir()
	var out bytes.Buffer
	if err := run(&out, options{root: "../..", folder: folder, records: records}); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	t.Run("walks both machines to the end", func(t *testing.T) {
		for _, want := range []string{
			"11 tables compiled",
			"The deal ended in COMPLETED_RELEASED",
			"The registration ended in deregistered",
			"refused in FUNDED",
			"by the clock",
		} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("no %q in\n%s", want, out.String())
			}
		}
	})
	t.Run("kills and recovers", func(t *testing.T) {
		for _, want := range []string{"killed (SIGKILL)", "taken up again", "ok  history is gapless", "requeues them: 1", "was told to stop (SIGTERM) and has"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("no %q in\n%s", want, out.String())
			}
		}
	})
	if strings.Contains(out.String(), "\x1b") {
		t.Error("colours without a terminal")
	}
	a, err := open(t.Context(), setting{folder: folder, clock: acceleratedClock{time.Now()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.close(); err != nil {
			t.Error(err)
		}
	})
	t.Run("every machine comes to rest", func(t *testing.T) { comeToRest(t, a, records) })
	t.Run("checks find what is broken", func(t *testing.T) { findWhatIsBroken(t, a) })
}

// comeToRest holds the end table against what the scenarios lead to.
func comeToRest(t *testing.T, a *app, records int) {
	counts := map[string]map[string]int{}
	retries := 0
	for i, want := range expected {
		f, err := a.measure(t.Context(), a.machines[i])
		if err != nil {
			t.Fatal(err)
		}
		if name := a.machines[i].Name(); name != want.machine {
			t.Fatalf("machine %d is %s, want %s", i, name, want.machine)
		}
		counts[want.machine] = f.states
		for state, n := range f.states {
			if !slices.Contains(want.rest, state) {
				t.Errorf("%s: %d records in %s, where none comes to rest", want.machine, n, state)
			}
		}
		if f.dead != want.dead {
			t.Errorf("%s: %d dead letters, want %d", want.machine, f.dead, want.dead)
		}
		if started := slices.Contains([]string{"unpack", "activate", "transfer"}, want.machine); !started && f.records != records {
			t.Errorf("%s: %d records, want %d", want.machine, f.records, records)
		}
		if f.transitions < 2*f.records {
			t.Errorf("%s: %d transitions of %d records", want.machine, f.transitions, f.records)
		}
		retries += f.retries
	}
	if retries == 0 {
		t.Error("no effect was repeated")
	}
	// What completes starts the next machine of the chain, once.
	for _, link := range [][2]string{{"download", "unpack"}, {"unpack", "activate"}} {
		started := 0
		for _, n := range counts[link[1]] {
			started += n
		}
		if completed := counts[link[0]]["COMPLETE"]; completed != started || completed == 0 {
			t.Errorf("%d of %s completed and %d of %s were started", completed, link[0], started, link[1])
		}
	}
}

// findWhatIsBroken breaks what the checks look at: each must notice. That they
// find nothing in what the demo left was asked by the demo itself.
func findWhatIsBroken(t *testing.T, a *app) {
	drop(t, a)
	for _, tt := range []struct {
		name, damage string
		check        check
	}{
		{"gap", "UPDATE publish_history SET version = version + 100 WHERE version > 2", a.gapless()},
		{"astray", "UPDATE publish_records SET version = version + 1", a.atTheEnd()},
		{"booked twice", "INSERT INTO service_ledger SELECT message_id || '-2', deal_id, account, nano FROM service_ledger WHERE account = 'EXTERNAL_TON'", ledger()},
		{"not audited", "DELETE FROM service_notes WHERE machine = 'publish'", onceEach()},
		{"forgotten", "DELETE FROM fsm_outbox WHERE message_id = 'cut'", recovered([]cutEffect{{id: "cut"}})},
		{"left undone", "UPDATE fsm_outbox SET state = 'pending', available_at = created_at WHERE machine = 'publish'", settled()},
	} {
		alter(t, a, tt.damage)
		if problems, says, err := a.made(t.Context(), tt.check); err != nil || problems == 0 {
			t.Errorf("%s went unnoticed: %s, %v", tt.name, says, err)
		}
	}
}

// drop removes the triggers, which would not let the damage happen.
func drop(t *testing.T, a *app) {
	t.Helper()
	var names []string
	err := a.rows(t.Context(), func(r *sql.Rows) error {
		var name string
		err := r.Scan(&name)
		names = append(names, name)
		return err
	}, "SELECT name FROM sqlite_schema WHERE type = 'trigger'")
	if err != nil || len(names) == 0 {
		t.Fatalf("%d triggers: %v", len(names), err)
	}
	for _, name := range names {
		alter(t, a, `DROP TRIGGER "`+name+`"`)
	}
}

// alter changes the file as a program does that doesn't enforce its foreign keys.
func alter(t *testing.T, a *app, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+a.database()+"?_pragma=busy_timeout(60000)")
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), statement)
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func TestDemoNeedsTheSpecs(t *testing.T) {
	err := run(&bytes.Buffer{}, options{root: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "make demo") {
		t.Errorf("got %v", err)
	}
}
