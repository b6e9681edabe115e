package attacks

import "strings"

// fileAttacks use what a database itself offers: temporary tables, schemas, settings
// and operators of PostgreSQL, and what SQLite does for OR REPLACE and UPSERT.
func fileAttacks() []Attack {
	return append(postgresAttacks(), replaceAttacks()...)
}

func postgresAttacks() []Attack {
	forged := []string{
		`CREATE TEMPORARY TABLE deals (LIKE deals INCLUDING DEFAULTS)`,
		`INSERT INTO deals (deal_id, status, version, last_event, entered_at, advertiser_id, owner_id, price_nano, updated_at)
			VALUES ({draft}, 'OFFER_PENDING', 2, 'SUBMIT_OFFER', '2026-03-01T12:00:00Z', 7, 8, 100, '2026-03-01T12:00:00Z')`,
		told("draft", offer),
	}
	lies := []string{
		`CREATE FUNCTION pg_temp.lies(text, text) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true'`,
		`CREATE OPERATOR pg_temp.= (LEFTARG = text, RIGHTARG = text, FUNCTION = pg_temp.lies)`,
		`SELECT set_config('search_path', 'pg_temp, pg_catalog, ' || current_schema(), true)`,
	}
	attack := func(name, by string, statements ...string) Attack {
		return Attack{Name: name, On: File, Refused: by, Postgres: statements}
	}
	const illegal = `UPDATE deals SET version = version + 1, last_event = 'APPROVE', status = 'REFUNDED' WHERE deal_id = {funded}`
	return []Attack{
		attack("a temporary table vouches for history", "history", forged...),
		attack("operators of a caller's schema", "edge", append(lies, illegal)...),
		attack("a caller's schema, and a creation", "edge", append(lies, `INSERT INTO deals (deal_id, status, version, last_event, entered_at, advertiser_id, owner_id, price_nano)
			VALUES ('99999999-0000-4000-8000-000000000001', 'FUNDED', 1, 'CREATE', now(), 7, 8, 100)`)...),
		attack("null equals null", "edge", `SET LOCAL transform_null_equals = on`, illegal),
		attack("strings with escapes", "edge", `SET LOCAL standard_conforming_strings = off`, illegal),
		attack("constraints at the end", "edge", `SET CONSTRAINTS ALL DEFERRED`, illegal),
		attack("triggers are switched off", "42501", `SET LOCAL session_replication_role = replica`, illegal),
		attack("a trigger is disabled", "42501", `ALTER TABLE deals DISABLE TRIGGER deal_update`),
		attack("a trigger is dropped", "42501", `DROP TRIGGER deal_update ON deals`),
		attack("a function is replaced", "42501", `CREATE OR REPLACE FUNCTION deal_rules(r deals) RETURNS boolean LANGUAGE sql AS 'SELECT true'`),
		attack("a rule is made", "42501", `CREATE RULE no AS ON DELETE TO deals DO INSTEAD NOTHING`),
		attack("records are truncated", "", `TRUNCATE deals CASCADE`),
		attack("records are merged", "edge", `MERGE INTO deals AS d USING (VALUES (1)) AS v ON d.deal_id = {funded}
			WHEN MATCHED THEN UPDATE SET version = version + 1, last_event = 'APPROVE', status = 'REFUNDED'`),
		attack("a record is upserted", "", `INSERT INTO deals (deal_id, status, version, last_event, entered_at, advertiser_id, owner_id, price_nano, updated_at)
			VALUES ({funded}, 'DRAFT', 1, 'CREATE', now(), 7, 8, 100, now()) ON CONFLICT (deal_id) DO UPDATE SET status = 'REFUNDED'`),
	}
}

// replaceAttacks take a row away for the sake of another.
func replaceAttacks() []Attack {
	const at = `'2026-03-01T12:00:00.000000Z'`
	creation := func(id string) string {
		return `INSERT OR REPLACE INTO deals (deal_id, status, version, last_event, entered_at, advertiser_id, owner_id, price_nano, created_at, updated_at)
			VALUES (` + id + `, 'DRAFT', 1, 'CREATE', ` + at + `, 7, 8, 100, ` + at + `, ` + at + `)`
	}
	attack := func(name, by string, statements ...string) Attack {
		return Attack{Name: name, On: File, Refused: by, SQLite: statements}
	}
	return []Attack{
		attack("a record is replaced", "UNIQUE", creation("{funded}")),
		attack("a record is replaced by REPLACE", "UNIQUE", strings.Replace(creation("{funded}"), "INSERT OR REPLACE", "REPLACE", 1)),
		attack("a record is replaced for its address", "UNIQUE", `UPDATE OR REPLACE deals SET version = version + 1, last_event = 'ADDRESS_READY',
			status = 'AWAITING_PAYMENT', deposit_address = 'funded' WHERE deal_id = {accepted}`),
		attack("a key that is taken is upserted", "UNIQUE", strings.Replace(creation("{funded}"), "INSERT OR REPLACE", "INSERT", 1)+` ON CONFLICT (deal_id) DO UPDATE SET status = 'REFUNDED'`),
		attack("a record takes the id of another", "immutable", `UPDATE OR REPLACE deals SET deal_id = {draft}, version = version + 1, last_event = 'DEPOSIT_CONFIRMED' WHERE deal_id = {funded}`),
		attack("a default takes the place of what a step wrote", "NOT NULL", `UPDATE OR REPLACE deals SET version = version + 1, last_event = 'SUBMIT_OFFER', status = 'OFFER_PENDING',
			entered_at = `+at+`, updated_at = NULL WHERE deal_id = {draft}`),
		attack("history is replaced", "history", strings.Replace(told("funded", `1, 'CREATE', NULL, 'DRAFT', 'create', 'advertiser', 7, `+at), "INSERT", "INSERT OR REPLACE", 1)),
		attack("the last history row is replaced", "history", offered, told("draft", offer), strings.Replace(told("draft", offer), "INSERT", "INSERT OR REPLACE", 1)),
		attack("a deletion with recursion off", "delete", `PRAGMA recursive_triggers = OFF`, `DELETE FROM deals WHERE deal_id = {funded}`),
	}
}
