package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/generated/activate"
	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/generated/unpack"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// migrateSchema tells a process of the test which schema to migrate.
const migrateSchema = "FSMGEN_TEST_MIGRATE_SCHEMA"

// TestProcessesMigrateAtOnce starts several processes that migrate one empty
// database at the same time.
func TestProcessesMigrateAtOnce(t *testing.T) {
	if schema := os.Getenv(migrateSchema); schema != "" {
		d := &database{dsn: os.Getenv("FSMGEN_POSTGRES_DSN"), schema: schema}
		must(t, d.store(t).Migrate(context.Background(), fleetMachines()))
		return
	}
	d := openDatabase(t)
	program, err := os.Executable()
	must(t, err)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			process := exec.Command(program, "-test.run=^TestProcessesMigrateAtOnce$", "-test.count=1")
			process.Env = append(os.Environ(), migrateSchema+"="+d.schema)
			if out, err := process.CombinedOutput(); err != nil {
				t.Errorf("%v:\n%s", err, out)
			}
		})
	}
	wg.Wait()
	if n := d.count(t, "fsm_schema"); n != Version {
		t.Errorf("%d migrations are recorded, want %d", n, Version)
	}
	for _, m := range fleetMachines() {
		d.count(t, quoted(m.Tables().Record))
	}
	d.allowAnyRows(t)
	must(t, save(d.store(t), creation(t, 1)))
}

// fleetMachines lists machines so that tables refer to such that come later.
func fleetMachines() []store.Machine {
	return []store.Machine{
		activate.Define[pgx.Tx](nil), unpack.Define[pgx.Tx](nil, unpack.DefaultParams()), download.Define[pgx.Tx](nil, download.DefaultParams()), deals(),
	}
}

// TestStoresShareTheWork lets eight stores claim from one outbox until it is
// empty: every message is claimed once, and more than one store got some.
func TestStoresShareTheWork(t *testing.T) {
	d := openDatabase(t)
	s := d.migrated(t)
	const records, workers = 200, 8
	for n := range records {
		c := creation(t, n)
		second := message(n, 2)
		c.Outbox, c.SetDeadlines = append(c.Outbox, second), []store.Deadline{deadlineOf(n, epoch)}
		must(t, save(s, c))
	}
	var mu sync.Mutex
	seen, by := map[string]int{}, map[int]bool{}
	var wg sync.WaitGroup
	for w := range workers {
		db := d.store(t)
		wg.Go(func() {
			for {
				tasks, err := db.Claim(context.Background(), claim(byte(w+1), 7))
				if err != nil {
					t.Errorf("claim: %v", err)
					return
				}
				mu.Lock()
				for _, task := range tasks {
					seen[fmt.Sprint(task.Kind, task.Effect.MessageID, task.Deadline.RecordID)]++
					by[w] = true
				}
				done := len(seen) == 3*records
				mu.Unlock()
				if done {
					return
				}
				for _, task := range tasks {
					if err := finish(db, task); err != nil {
						t.Errorf("settle: %v", err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	for task, n := range seen {
		if n != 1 {
			t.Errorf("%s was claimed %d times", task, n)
		}
	}
	if len(seen) != 3*records || len(by) < 2 {
		t.Errorf("%d tasks were claimed by %d stores, want %d by several", len(seen), len(by), 3*records)
	}
}

// finish ends a task well.
func finish(s *Store, task store.Task) error {
	ctx := context.Background()
	done := store.Settlement{Kind: task.Kind, Token: task.Token, Machine: task.Deadline.Machine, RecordID: task.Deadline.RecordID, Deadline: task.Deadline.Kind}
	if task.Kind == store.TaskEffect {
		done.MessageID = task.Effect.MessageID
		done.MessageState = store.MessageState{State: "delivered", Attempts: task.Effect.Attempts + 1, AvailableAt: task.Effect.AvailableAt, DeliveredAt: fsm.Some(epoch)}
	}
	return s.InTx(ctx, func(tx pgx.Tx) error { return s.Settle(ctx, tx, done) })
}

// TestConnectionsElsewhereAreRefused: a pool that does not look into the schema
// would not find the tables, or another program's.
func TestConnectionsElsewhereAreRefused(t *testing.T) {
	d := openDatabase(t)
	s, err := New(d.pool, Options{Schema: d.schema + "_other"})
	must(t, err)
	t.Cleanup(func() { d.exec(t, "DROP SCHEMA IF EXISTS "+d.schema+"_other") })
	var path *SearchPathError
	if err := s.Migrate(context.Background(), nil); !errors.As(err, &path) || path.Schema != d.schema+"_other" {
		t.Errorf("the error is %v, want a search path error", err)
	}
}

// TestTableOfAnotherVersionIsRefused: a record table that lacks a column of the
// machine.
func TestTableOfAnotherVersionIsRefused(t *testing.T) {
	d := openDatabase(t)
	s := d.migrated(t)
	d.exec(t, "ALTER TABLE deals DROP COLUMN owner_cancels")
	var table *store.TableError
	err := s.Migrate(context.Background(), []store.Machine{deals()})
	if !errors.As(err, &table) || table.Table != "deals" || len(table.Missing) != 1 || table.Missing[0] != "owner_cancels" {
		t.Errorf("the error is %v, want one about the column owner_cancels", err)
	}
}

// TestMissingReferenceIsSaid: a machine whose tables refer to those of one that
// is not there.
func TestMissingReferenceIsSaid(t *testing.T) {
	d := openDatabase(t)
	err := d.store(t).Migrate(context.Background(), []store.Machine{activate.Define[pgx.Tx](nil)})
	if err == nil || !errors.Is(err, store.ErrStore) {
		t.Fatalf("the error is %v, want a failure", err)
	}
	if n := d.count(t, "pg_tables WHERE schemaname = '"+d.schema+"'"); n != 0 {
		t.Errorf("%d tables were left behind", n)
	}
}
