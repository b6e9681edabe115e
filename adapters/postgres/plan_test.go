package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// settled is how many rows of the outbox and of deadlines there are for which
// nothing is to be done.
const settled = 50_000

// TestNoStatementScansATable fills the tables with rows that are done and asks
// the planner, with parameters unknown as for a prepared statement, how it
// would run what workers and callers run again and again.
func TestNoStatementScansATable(t *testing.T) {
	d := openDatabase(t)
	db := d.migrated(t)
	fill(t, d)
	conn, err := d.pool.Acquire(context.Background())
	must(t, err)
	defer conn.Release()
	exec := func(sql string) {
		t.Helper()
		_, err := conn.Exec(context.Background(), sql, pgx.QueryExecModeSimpleProtocol)
		must(t, err)
	}
	exec("SET plan_cache_mode = force_generic_plan")

	tables := deals().Tables()
	must(t, db.InTx(context.Background(), func(tx pgx.Tx) error {
		return db.learn(context.Background(), tx, slices.Repeat([]store.Commit{creation(t, 1)}, several))
	}))
	every := everyColumn(tables)
	manySteps, _ := db.texts.step(tables, stepShape{form: moves, columns: every})
	for i, tt := range []struct {
		name, sql string
		params    int
	}{
		{"claim effects", claimEffects, 13},
		{"claim deadlines", claimDeadlines, 9},
		{"settle an effect", settleEffect, 9},
		{"settle effects", settleEffects, 9},
		{"settle an effect by hand", settleByHand, 10},
		{"renew an effect", renewEffect, 4},
		{"settle a deadline", settleDeadline, 4},
		{"renew a deadline", renewDeadline, 5},
		{"cancel work", cancelWork, 2},
		{"cancel the work of many", cancelAll, 2},
		{"clear deadlines", clearSome, 3},
		{"clear deadlines of many", clearAll, 3},
		{"look keys up", selectKeys, 2},
		{"are effects held", selectHeldEffects, 1},
		{"is anything open", selectAlone, 2},
		{"is a deadline held", selectHeldDeadline, 4},
		{"backlog", backlog, 6},
		{"unknown work", sqlOf(readUnknown(store.Read{Limit: 1})), 11},
		{"dead letters", sqlOf(readMessages(store.Read{Kind: store.ReadDeadLetters, Limit: 1})), 1},
		{"a message", sqlOf(readMessages(store.Read{Kind: store.ReadMessage})), 1},
		{"many steps", manySteps, atColumns - 1 + len(every)},
		{"many records", db.texts.of(tables, all), 1},
		{"a record", sqlOf(readRecords(store.Read{Kind: store.ReadRecord, Tables: tables})), 1},
		{"records after an id", sqlOf(readRecords(store.Read{Kind: store.ReadRecords, Tables: tables, After: id(1), Limit: 1})), 2},
		{"history", sqlOf(readHistory(store.Read{Kind: store.ReadHistory, Tables: tables})), 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			name := fmt.Sprintf("s%d", i)
			exec("PREPARE " + name + " AS " + tt.sql)
			nulls := strings.TrimSuffix(strings.Repeat("NULL, ", tt.params), ", ")
			var text []byte
			must(t, conn.QueryRow(context.Background(), "EXPLAIN (FORMAT JSON) EXECUTE "+name+" ("+nulls+")", pgx.QueryExecModeSimpleProtocol).Scan(&text))
			if scans := seqScans(t, text); len(scans) > 0 {
				t.Errorf("it scans %s:\n%s", strings.Join(scans, ", "), text)
			}
		})
	}
}

func sqlOf(s statement) string { return s.sql.String() }

// TestIdlePollingTouchesFewPages runs the claims of a worker that has nothing
// to do beside the settled rows.
func TestIdlePollingTouchesFewPages(t *testing.T) {
	d := openDatabase(t)
	d.migrated(t)
	fill(t, d)
	const most = 20 // of more than a thousand; the number does not grow with the rows
	c := claim(1, 100)
	for _, tt := range []struct {
		name string
		of   store.Claim
	}{{"effects", store.Claim{Destinations: c.Destinations, Effects: 100, Suspects: 1}}, {"deadlines", store.Claim{Events: c.Events, Deadlines: 100}}} {
		tt.of.Now, tt.of.Until, tt.of.Worker = c.Now, c.Until, c.Worker
		b := &pgx.Batch{}
		newSearch(tt.of).queue(b)
		var text []byte
		q := b.QueuedQueries[0]
		must(t, d.pool.QueryRow(context.Background(), "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+q.SQL, q.Arguments...).Scan(&text))
		var plans []struct {
			Plan map[string]any
		}
		must(t, json.Unmarshal(text, &plans))
		pages, _ := plans[0].Plan["Shared Hit Blocks"].(float64)
		read, _ := plans[0].Plan["Shared Read Blocks"].(float64)
		if pages+read > most || pages+read == 0 {
			t.Errorf("claiming %s touched %v pages, want 1 to %d:\n%s", tt.name, pages+read, most, text)
		}
		t.Logf("an idle claim of %s touches %v pages beside %d settled rows", tt.name, pages+read, settled)
	}
}

// fill stores settled rows, a record each, and 100 open ones.
func fill(t *testing.T, d *database) {
	t.Helper()
	fillUnanalyzed(t, d)
	d.exec(t, "ANALYZE fsm_outbox, fsm_deadlines, fsm_keys, deals, deal_events")
}

// fillUnanalyzed is fill without telling the planner.
func fillUnanalyzed(t *testing.T, d *database) {
	t.Helper()
	d.exec(t, fmt.Sprintf(`
		INSERT INTO fsm_outbox (message_id, machine, record_id, version, seq, effect, destination, delivery, work, payload, created_at, state, attempts, available_at, delivered_at)
		SELECT gen_random_uuid(), 'deal', gen_random_uuid()::text, 1, 1, 'e', 'kafka', 'keyed', n %% 2 = 0, '{}', '%[2]s', 'delivered', 1, '%[2]s', '%[2]s' FROM generate_series(1, %[1]d) AS n;
		INSERT INTO fsm_outbox (message_id, machine, record_id, version, seq, effect, destination, delivery, work, payload, created_at, state, attempts, available_at)
		SELECT gen_random_uuid(), 'deal', gen_random_uuid()::text, 1, 1, 'e', 'kafka', 'keyed', true, '{}', '%[2]s', 'pending', 0, timestamptz '%[2]s' + interval '1 day' FROM generate_series(1, 100);
		INSERT INTO fsm_deadlines (machine, record_id, kind, version, due_at, event, payload)
		SELECT 'deal', gen_random_uuid()::text, 'timeout', 1, timestamptz '%[2]s' + interval '1 day', 'EXPIRE', '{}' FROM generate_series(1, %[1]d);
		INSERT INTO fsm_keys (machine, key, record_id, event, version, created_at)
		SELECT 'deal', 'call:' || n, n::text, 'CREATE', 1, '%[2]s' FROM generate_series(1, %[1]d) AS n;
		INSERT INTO deals (deal_id, status, version, last_event, entered_at, updated_at, advertiser_id, owner_id, price_nano)
		SELECT gen_random_uuid(), 'DRAFT', 1, 'CREATE', '%[2]s', '%[2]s', 7, 8, 100 FROM generate_series(1, %[1]d);
		INSERT INTO deal_events (event_id, deal_id, version, event_type, to_status, transition, actor_role, actor_id, created_at)
		SELECT gen_random_uuid(), deal_id, 1, 'CREATE', 'DRAFT', 'create', 'advertiser', 7, '%[2]s' FROM deals
		WHERE deal_id NOT IN (SELECT deal_id FROM deal_events)`, settled, epoch.Format(time.RFC3339Nano)))
}

// seqScans lists the tables that a plan scans from end to end.
func seqScans(t *testing.T, text []byte) (tables []string) {
	t.Helper()
	type node struct {
		NodeType string `json:"Node Type"`
		Relation string `json:"Relation Name"`
		Plans    []node
	}
	var plans []struct{ Plan node }
	must(t, json.Unmarshal(text, &plans))
	nodes := []node{plans[0].Plan}
	for len(nodes) > 0 {
		n := nodes[0]
		nodes = append(nodes[1:], n.Plans...)
		if n.NodeType == "Seq Scan" {
			tables = append(tables, n.Relation)
		}
	}
	if plans[0].Plan.NodeType == "" {
		t.Fatalf("there is no plan in %s", text)
	}
	return tables
}
