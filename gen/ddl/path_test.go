package ddl_test

import "testing"

// A session chooses its search path and makes temporary tables. Neither may decide
// what a rule looks at.

// TestPostgresFunctionsHaveAFixedPath, each of them.
func TestPostgresFunctionsHaveAFixedPath(t *testing.T) {
	db := openPostgres(t)
	db.create(t, sample(t))
	schema := db.text(t, "SELECT current_schema()")
	if open := db.text(t, `SELECT COALESCE(string_agg(proname, ' '), '') FROM pg_proc
		WHERE pronamespace = '`+schema+`'::regnamespace AND proconfig IS DISTINCT FROM ARRAY['search_path=`+schema+`, pg_temp']`); open != "" {
		t.Errorf("the path of the caller holds in %s", open)
	}
	if n := db.text(t, "SELECT count(*)::text FROM pg_proc WHERE pronamespace = '"+schema+"'::regnamespace"); n == "0" {
		t.Error("no functions")
	}
}

// TestPostgresTemporaryTables stand before all others in a search path that does
// not name them.
func TestPostgresTemporaryTables(t *testing.T) {
	db := openPostgres(t)
	db.create(t, sample(t))
	schema := db.text(t, "SELECT current_schema()")
	forged := []string{
		created, "CREATE TEMPORARY TABLE samples (LIKE samples INCLUDING DEFAULTS)",
		"INSERT INTO pg_temp.samples (sample_id, phase, version, last_event, entered_at, student_id, title, created_at, updated_at)" +
			" SELECT sample_id, 'closed', 2, 'close', entered_at, student_id, title, created_at, updated_at FROM " + schema + ".samples",
		told("2", "close", "'open'", "closed", nil),
	}
	if err := db.try(t, forged...); sqlState(err) != "FS004" {
		t.Errorf("a temporary table vouches for a history row: %v", err)
	}
	stranger := []string{
		"CREATE TEMPORARY TABLE results (LIKE results INCLUDING DEFAULTS)",
		result.insert("pg_temp.results"), diploma.insert(schema + ".diplomas"),
	}
	if err := db.try(t, stranger...); sqlState(err) != "FS007" {
		t.Errorf("a temporary table has the row referred to: %v", err)
	}
}

// TestPostgresOperatorsOfACaller stand before those of PostgreSQL in a search path
// that says so.
func TestPostgresOperatorsOfACaller(t *testing.T) {
	db := openPostgres(t)
	db.create(t, sample(t))
	schema := db.text(t, "SELECT current_schema()")
	lies := []string{
		"CREATE SCHEMA " + schema + "_lies", "SET LOCAL search_path = " + schema + "_lies, pg_catalog, " + schema,
		"CREATE FUNCTION yes(text, text) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true'",
		"CREATE OPERATOR = (LEFTARG = text, RIGHTARG = text, FUNCTION = yes)",
		"CREATE FUNCTION no(bigint, bigint) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT false'",
		"CREATE OPERATOR > (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = no)",
		"CREATE OPERATOR <> (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = no)",
	}
	for name, c := range map[string]struct {
		stmt, state string
		before      []string
	}{
		"edge":    {step("judge", "done"), "FS001", []string{created}},
		"version": {newSample(row{"version": "7"}), "FS002", nil},
		"history": {told("7", "start", "'open'", "running", nil), "FS004", []string{created}},
		"rules":   {newSample(row{"title": "'x'"}), "23514", nil},
	} {
		stmts := append(append(append([]string{}, c.before...), lies...), c.stmt)
		if err := db.try(t, stmts...); sqlState(err) != c.state {
			t.Errorf("%s: %v, want %s", name, err, c.state)
		}
	}
}
