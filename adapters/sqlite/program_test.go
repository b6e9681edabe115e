package sqlite_test

import (
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/adapters/sqlite"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/internal/parts"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// The least SQLite is that of Debian 12, 3.40, whose program is a part.

// program runs statements in the program sqlite3, as an operator does.
func program(t *testing.T, file string, input string) (string, error) {
	t.Helper()
	path := os.Getenv("FSMGEN_SQLITE3")
	if path == "" {
		found, err := exec.LookPath("sqlite3")
		if err != nil {
			parts.Missing(t, "FSMGEN_SQLITE3 is not set and sqlite3 is not on the PATH: run under tools/parts")
		}
		path = found
	}
	cmd := exec.CommandContext(t.Context(), path, "-batch", "-bail", "-init", "/dev/null", file)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestProgramOpensEverySchema(t *testing.T) {
	t.Parallel()
	schemas, err := filepath.Glob("../../generated/*/sqlite.sql")
	if err != nil || len(schemas) == 0 {
		t.Fatalf("%d schemas, %v", len(schemas), err)
	}
	for _, path := range schemas {
		schema, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "machine.db")
		if out, err := program(t, file, string(schema)); err != nil {
			t.Errorf("%s: %v\n%s", path, err, out)
		}
		if out, err := program(t, file, ".tables\nPRAGMA integrity_check;"); err != nil || !strings.HasSuffix(out, "ok\n") {
			t.Errorf("%s: reopened: %v\n%s", path, err, out)
		}
	}
}

// TestProgramFollowsTheGuide asks what docs/operating.md asks, of a file that an
// engine's store made.
func TestProgramFollowsTheGuide(t *testing.T) {
	t.Parallel()
	file := dealsFile(t)
	out, err := program(t, file, ".tables")
	if err != nil || !strings.Contains(out, "deals") || !strings.Contains(out, "fsm_outbox") {
		t.Errorf(".tables: %v\n%s", err, out)
	}
	guide, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(string(guide), -1)
	if len(blocks) == 0 {
		t.Fatal("the guide has no SQL")
	}
	for _, block := range blocks {
		if out, err := program(t, file, block[1]); err != nil {
			t.Errorf("%v\n%s\n%s", err, out, block[1])
		}
	}
}

// TestProgramIsRefused: the rules hold for an operator with the program, whose
// foreign keys and recursive triggers are off.
func TestProgramIsRefused(t *testing.T) {
	t.Parallel()
	file := dealsFile(t)
	const id = "'00000000-0000-4000-8000-000000000001'"
	created := "INSERT INTO deals (deal_id, status, version, last_event, entered_at, advertiser_id, owner_id, price_nano, created_at, updated_at) VALUES (" +
		id + ", 'DRAFT', 1, 'CREATE', '2026-01-02T03:04:05.000000Z', 7, 8, 100, '2026-01-02T03:04:05.000000Z', '2026-01-02T03:04:05.000000Z');"
	const history = "INSERT INTO deal_events (event_id, deal_id, version, event_type, to_status, transition, actor_role, actor_id, created_at) VALUES (" +
		id + ", " + id + ", 1, 'CREATE', 'DRAFT', 'create', 'advertiser', 7, '2026-01-02T03:04:05.000000Z');"
	for _, c := range []struct{ statement, want string }{
		{created, ""},
		{strings.Replace(created, "'DRAFT'", "'FUNDED'", 1), "fsmgen: deal: edge: no record is created by"},
		{"UPDATE deals SET status = 'FUNDED', version = 2, last_event = 'ACCEPT';", "fsmgen: deal: edge: no transition from DRAFT"},
		{"UPDATE deals SET owner_id = 9, version = 2, last_event = 'SUBMIT_OFFER', status = 'OFFER_PENDING';", "fsmgen: deal: immutable: owner_id"},
		{"DELETE FROM deals;", "fsmgen: deal: delete:"},
	} {
		statement := c.statement
		if statement != created {
			statement = created + history + statement
		}
		out, err := program(t, file, "BEGIN; "+statement+" ROLLBACK;")
		if (err == nil) != (c.want == "") || !strings.Contains(out, c.want) {
			t.Errorf("%s: %v\n%swant %q", c.statement, err, out, c.want)
		}
	}
}

// TestProgramStoresAMessageWithoutPayload: before SQLite 3.42 json_valid calls null no
// JSON.
func TestProgramStoresAMessageWithoutPayload(t *testing.T) {
	t.Parallel()
	table, err := program(t, dealsFile(t), "SELECT sql || ';' FROM sqlite_schema WHERE name = 'fsm_outbox';")
	if err != nil {
		t.Fatal(err, table)
	}
	const message = `INSERT INTO fsm_outbox (message_id, machine, record_id, version, seq, effect, destination, delivery, work, state, attempts, available_at, payload, created_at)
		VALUES ('00000000-0000-4000-8000-000000000001', 'deal', '1', 1, 0, 'e', 'l', 'keyed', 0, 'pending', 0, '2026-01-02T03:04:05.000000Z', NULL, '2026-01-02T03:04:05.000000Z');`
	if out, err := program(t, ":memory:", table+message); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// dealsFile is a file with the engine's tables and those of deals.
func dealsFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "deals.db")
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	machines := []store.Machine{deal.Define[*sql.Tx](nil, deal.DefaultParams())}
	if err := errors.Join(db.Migrate(t.Context(), machines), db.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}
