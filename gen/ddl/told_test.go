package ddl_test

import (
	"strings"
	"testing"
)

// The history is complete: each step has one row, which tells what happened.

// TestEachStepIsTold in the transaction that takes it.
func TestEachStepIsTold(t *testing.T) {
	cases := []struct {
		name          string
		before, stmts []string
	}{
		{"creation", nil, []string{created}},
		{"step", []string{created, opened}, []string{started}},
		{"step and a row of another one", []string{created, opened}, []string{
			started, told("2", "start", "'open'", "running", nil), step("answer", "running", "points = 3"),
		}},
	}
	eachDatabase(t, func(t *testing.T, db *database) {
		db.createWhole(t, sample(t))
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				if len(c.before) > 0 && db.text(t, "SELECT CAST(count(*) AS text) FROM samples") == "0" {
					db.commit(t, c.before...)
				}
				db.must(t, append([]string{"BEGIN"}, c.stmts...)...)
				err := db.exec("COMMIT")
				if err == nil || !strings.Contains(err.Error(), db.says("{has no history row|FOREIGN KEY constraint failed}")) {
					t.Errorf("got %v", err)
				}
				_ = db.exec("ROLLBACK") // PostgreSQL has done so
			})
		}
	})
}

// TestSQLiteNextStep: without foreign keys the last step of a record may lack its
// row, but the record moves no further.
func TestSQLiteNextStep(t *testing.T) {
	db := openSQLite(t)
	db.createWhole(t, sample(t))
	db.must(t, "PRAGMA foreign_keys = OFF", created)
	if err := db.exec(started); err == nil || !strings.Contains(err.Error(), "history: version OLD.version has no history row") {
		t.Errorf("got %v", err)
	}
	db.must(t, opened, started)
}

// TestHistoryFollows: a transition of several states is told from the one that it
// left.
func TestHistoryFollows(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db *database) {
		db.createWhole(t, sample(t))
		db.commit(t, created, opened, started, told("2", "start", "'open'", "running", nil))
		db.must(t, "BEGIN", step("close", "closed"))
		err := db.exec(told("3", "close", "'open'", "closed", nil))
		if db.asksAtCommit && err == nil {
			err = db.exec("COMMIT")
		}
		if err == nil || !strings.Contains(err.Error(), db.says("{version 3 from running by close has no history row|did not end in NEW.from_phase}")) {
			t.Errorf("got %v", err)
		}
		_ = db.exec("ROLLBACK") // PostgreSQL has done so
	})
}

// TestHistoryTellsAVersionOnce, in a partitioned table and in one that is not.
func TestHistoryTellsAVersionOnce(t *testing.T) {
	for _, partition := range []bool{true, false} {
		eachDatabase(t, func(t *testing.T, db *database) {
			m := sample(t)
			m.Storage.Partition = partition
			db.create(t, m)
			for at, want := range map[string]string{
				noon: "{sample_steps|version NEW.version is already told}",
				one:  "the record is not in {open by register at version 1 since 2026-01-02|NEW.to_phase}",
			} {
				err := db.try(t, created, opened, told("1", "register", "NULL", "open", row{"created_at": at}))
				if err == nil || !strings.Contains(err.Error(), db.says(want)) {
					t.Errorf("at %s: got %v, want %s", at, err, db.says(want))
				}
			}
		})
	}
}

// TestPostgresVersionsAtEachIsolationLevel: another transaction, which may see the
// record as it was or as it is, tells no version again.
func TestPostgresVersionsAtEachIsolationLevel(t *testing.T) {
	for _, level := range []string{"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"} {
		t.Run(level, func(t *testing.T) {
			db := openPostgres(t)
			other := db.again(t)
			db.createWhole(t, sample(t))
			db.commit(t, created, opened)
			again := []string{
				opened, told("1", "register", "NULL", "open", row{"created_at": one}),
				told("2", "start", "'open'", "running", nil), told("2", "start", "'open'", "running", row{"created_at": one}),
			}
			for _, stmt := range again {
				other.must(t, "BEGIN ISOLATION LEVEL "+level)
				other.text(t, "SELECT version::text FROM samples") // takes the snapshot
				if db.text(t, "SELECT version::text FROM samples") == "1" {
					db.commit(t, started, told("2", "start", "'open'", "running", nil))
				}
				if other.exec(stmt) == nil && other.exec("COMMIT") == nil {
					t.Errorf("accepted: %s", stmt)
				}
				_ = other.exec("ROLLBACK")
			}
			if n := db.text(t, "SELECT count(*)::text FROM sample_steps"); n != "2" {
				t.Errorf("%s rows tell 2 versions", n)
			}
		})
	}
}

// TestPostgresTimesOfARecord are finite.
func TestPostgresTimesOfARecord(t *testing.T) {
	db := openPostgres(t)
	db.create(t, sample(t))
	for _, v := range []string{"'infinity'", "'-infinity'"} {
		for _, column := range []string{"entered_at", "created_at", "updated_at"} {
			if err := db.try(t, newSample(row{column: v})); err == nil {
				t.Errorf("%s = %s is accepted", column, v)
			}
		}
		err := db.try(t, newSample(row{"entered_at": v, "created_at": v, "updated_at": v}))
		if err == nil || !strings.Contains(err.Error(), "_time: ") {
			t.Errorf("all of them %s: %v", v, err)
		}
	}
}
