package ddl_test

import (
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen/ddl"
)

// TestPostgresTruncate and partitions: what only PostgreSQL has.
func TestPostgresTruncate(t *testing.T) {
	db := openPostgres(t)
	db.create(t, sample(t))
	if got := db.text(t, "SELECT sample_steps_partition('2026-02-17')"); got != "sample_steps_2026_02" {
		t.Errorf("partition %q", got)
	}
	for table, state := range map[string]string{
		"samples": "FS006", "sample_steps": "FS004", "sample_steps_default": "FS004", "sample_steps_2026_02": "FS004",
	} {
		if err := db.try(t, "TRUNCATE "+table); sqlState(err) != state {
			t.Errorf("TRUNCATE %s: %v, want %s", table, err, state)
		}
	}
}

// TestPostgresPartitions: a row goes to the partition of its month, in UTC,
// where the same rules hold.
func TestPostgresPartitions(t *testing.T) {
	db := openPostgres(t)
	db.create(t, sample(t))
	db.text(t, "SELECT sample_steps_partition('2026-02-01')")
	const last, first = "'2026-02-28T23:59:59.999999Z'", "'2026-03-01T00:00:00.000000Z'"
	db.commit(t, newSample(row{"entered_at": last, "updated_at": last}), told("1", "register", "NULL", "open", row{"created_at": last}),
		step("start", "running", "room = 'r1'", "entered_at = "+first, "updated_at = "+first), told("2", "start", "'open'", "running", row{"created_at": first}))
	got := db.text(t, "SELECT string_agg(tableoid::regclass::text, ' ' ORDER BY version) FROM sample_steps")
	if got != "sample_steps_2026_02 sample_steps_default" {
		t.Errorf("rows are in %s", got)
	}
	for _, stmt := range []string{"DELETE FROM sample_steps_2026_02", "UPDATE sample_steps_default SET payload = NULL"} {
		if err := db.try(t, stmt); sqlState(err) != "FS004" {
			t.Errorf("%s: %v", stmt, err)
		}
	}
	if err := db.try(t, "SELECT sample_steps_partition('2026-03-01')"); err == nil {
		t.Error("a partition was made for a month whose rows are elsewhere")
	}
}

// TestPostgresTimes refuses what Go can't read back.
func TestPostgresTimes(t *testing.T) {
	db := openPostgres(t)
	db.create(t, sample(t))
	for _, v := range []string{"'infinity'", "'-infinity'", "'10000-01-01 00:00:00Z'", "'0001-12-31 00:00:00Z BC'"} {
		if err := db.try(t, newSample(row{"starts_at": v})); err == nil || !strings.Contains(err.Error(), "sample_starts_at_time") {
			t.Errorf("%s: %v", v, err)
		}
	}
	for _, v := range []string{"'0001-01-01 00:00:00Z'", "'9999-12-31 23:59:59.999999Z'"} {
		if err := db.try(t, newSample(row{"starts_at": v})); err != nil {
			t.Errorf("%s: %v", v, err)
		}
	}
}

// TestPostgresNullElement: a list has no absent elements.
func TestPostgresNullElement(t *testing.T) {
	db := openPostgres(t)
	db.create(t, sample(t))
	if err := db.try(t, newSample(row{"topics": "ARRAY['a', NULL]"})); err == nil || !strings.Contains(err.Error(), "sample_topics_list") {
		t.Errorf("got %v", err)
	}
}

// TestSQLiteShapes: STRICT knows only text and integer, the CHECKs know more.
func TestSQLiteShapes(t *testing.T) {
	db := openSQLite(t)
	db.create(t, sample(t))
	cases := []struct{ column, rule, good, bad string }{
		{"passed", "sample_passed_bool", "1", "2"},
		{"starts_at", "sample_starts_at_time", noon, "'2026-01-02T12:00:00Z'"},
		{"starts_at", "sample_starts_at_time", noon, "'2026-01-02 12:00:00.000000Z'"},
		{"starts_at", "sample_starts_at_time", noon, "'2026-01-02T12:00:00.000000+00:00'"},
		{"starts_at", "sample_starts_at_time", noon, "'2026-01-02T12:00:60.000000Z'"},
		{"starts_at", "sample_starts_at_time", noon, "'0000-01-02T12:00:00.000000Z'"},
		{"starts_at", "sample_starts_at_time", "'2024-02-29T23:59:59.999999Z'", "'2026-02-29T12:00:00.000000Z'"},
		{"starts_at", "sample_starts_at_time", "'9999-12-31T23:59:59.999999Z'", "'2026-13-02T12:00:00.000000Z'"},
		{"starts_at", "sample_starts_at_time", "'0001-01-01T00:00:00.000000Z'", "'2026-01-02T24:00:00.000000Z'"},
		{"token", "sample_token_uuid", otherID, "'00000000-0000-4000-8000-00000000000A'"},
		{"token", "sample_token_uuid", otherID, "'00000000-0000-4000-8000-00000000001'"},
		{"token", "sample_token_uuid", otherID, "'00000000-0000-4000-8000-0000000-0001'"},
		{"answers", "sample_answers_json", `'{"a": 1}'`, "'{a'"},
		{"topics", "sample_topics_list", `'["a"]'`, `'"a"'`},
		{"topics", "topics holds only string", `'[]'`, `'["a", 1]'`},
		{"topics", "topics holds only string", `'[]'`, `'[null]'`},
		{"points", "cannot store TEXT value in INTEGER column", "3", "'three'"},
	}
	for _, c := range cases {
		if err := db.try(t, newSample(row{c.column: c.good})); err != nil {
			t.Errorf("%s = %s: %v", c.column, c.good, err)
		}
		if err := db.try(t, newSample(row{c.column: c.bad})); err == nil || !strings.Contains(err.Error(), c.rule) {
			t.Errorf("%s = %s: got %v, want %q", c.column, c.bad, err, c.rule)
		}
	}
}

// TestSQLiteReplace: OR REPLACE deletes rows without firing triggers, with foreign
// keys or without, so it needs rules of its own.
func TestSQLiteReplace(t *testing.T) {
	replace := func(stmt string) string {
		return strings.Replace(strings.Replace(stmt, "INSERT", "INSERT OR REPLACE", 1), "UPDATE", "UPDATE OR REPLACE", 1)
	}
	other := newSample(row{"sample_id": otherID, "title": "'art'", "student_id": "8"})
	good := result.insert("results")
	cases := []struct {
		name, stmt, want string
		before           []string
	}{
		{"record", replace(created), "samples.sample_id", nil},
		{"history", replace(opened), "version NEW.version is already told", nil},
		{"record with the same unique fields", replace(newSample(row{"sample_id": otherID})), "samples.title, samples.student_id", nil},
		{"active record", replace(newSample(row{"sample_id": otherID, "title": "'art'"})), "samples.student_id", nil},
		{"table row", replace(good), "results.result_id", []string{good}},
		{"table row by its key", replace("UPDATE results SET result_id = 'r' WHERE result_id = 's'"), "results.result_id", []string{good, result.with(row{"result_id": "'s'"}).insert("results")}},
		{"unique fields of another record", replace("UPDATE samples SET version = 2, last_event = 'start', phase = 'running', room = 'r', title = 'maths', student_id = 7 WHERE sample_id = " + otherID), "", []string{other}},
	}
	for _, keys := range []string{"ON", "OFF"} {
		db := openSQLite(t)
		db.must(t, "PRAGMA foreign_keys = "+keys)
		db.create(t, sample(t))
		for _, c := range cases {
			err := db.try(t, append([]string{created, opened}, append(c.before, c.stmt)...)...)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("foreign keys %s, %s: got %v, want %q", keys, c.name, err, c.want)
			}
		}
	}
}

// TestSQLiteIndexesPartitionedHistory by time.
func TestSQLiteIndexesPartitionedHistory(t *testing.T) {
	db := openSQLite(t)
	m := sample(t)
	db.create(t, m)
	plan := func() string {
		var id, parent, unused int
		var detail string
		row := db.conn.QueryRowContext(t.Context(), "EXPLAIN QUERY PLAN SELECT * FROM sample_steps WHERE created_at > "+noon)
		if err := row.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		return detail
	}
	if got := plan(); !strings.Contains(got, "USING INDEX sample_steps_created_at") {
		t.Errorf("plan: %s", got)
	}
	m.Storage.Partition = false
	if strings.Contains(ddl.SQLite(m), "CREATE INDEX sample_steps_created_at") {
		t.Error("an index without need")
	}
}
