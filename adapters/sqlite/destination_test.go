package sqlite_test

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/adapters/sqlite"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// beforeDestination is the last version of the engine's tables with the column lane, which
// is called destination since.
const beforeDestination = 10

// renamed is a file whose column of destinations is renamed.
type renamed struct {
	*testing.T
	db         *sql.DB
	s, running *sqlite.Store
	token      byte
}

// created stores the n-th deal by SQL, without its message.
func (f *renamed) created(n int) {
	f.Helper()
	_, err := f.db.Exec(fmt.Sprintf(`
		INSERT INTO deals (deal_id, status, version, last_event, entered_at, created_at, updated_at, advertiser_id, owner_id, price_nano)
		VALUES ('%[1]s', 'DRAFT', 1, 'CREATE', '%[2]s', '%[2]s', '%[2]s', 7, 8, 100);
		INSERT INTO deal_events (event_id, deal_id, version, event_type, to_status, transition, actor_role, created_at)
		VALUES ('%[1]s', '%[1]s', 1, 'CREATE', 'DRAFT', 'create', 'advertiser', '%[2]s')`, dealID(n), "2026-01-02T03:04:05.000000Z"))
	f.must(err)
}

// sends stores the message of the n-th deal's creation by SQL that calls the column of the
// destination so.
func (f *renamed) sends(n int, column, destination string) error {
	_, err := f.db.Exec(fmt.Sprintf(`
		INSERT INTO fsm_outbox (message_id, machine, record_id, version, seq, effect, %[2]s, delivery, work, payload, created_at, state, attempts, available_at)
		VALUES ('%[1]s', 'deal', '%[1]s', 1, 0, 'deal.events', '%[3]s', 'keyed', false, '{"deal_id":"%[1]s"}', '%[4]s', 'pending', 0, '%[4]s')`,
		dealID(n), column, destination, "2026-01-02T03:04:05.000000Z"))
	return err
}

// checked fails the test unless the database accepts the message of the n-th deal with its
// destination, and with no other.
func (f *renamed) checked(n int, column string) {
	f.Helper()
	f.created(n)
	if err := f.sends(n, column, "elsewhere"); err == nil || !strings.Contains(err.Error(), "no step of its record asks for this message") {
		f.Errorf("a wrong destination is stored: %v", err)
	}
	if err := f.sends(n, column, "kafka"); err != nil {
		f.Errorf("a message is refused: %v", err)
	}
}

// claim claims what is due with the running process.
func (f *renamed) claim() ([]store.Task, error) {
	f.token++
	now := time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC)
	return f.running.Claim(f.Context(), store.Claim{
		Worker: "w", Token: fsm.UUID{6: 0x40, 8: 0x80, 15: f.token}, Now: now, Until: now.Add(time.Minute), Effects: 9,
		Destinations: []store.Destination{{Machine: "deal", Name: "kafka", Effects: []string{"deal.events"}, Most: 9}},
	})
}

// claims fails the test unless the running process claims so many messages.
func (f *renamed) claims(want int) {
	f.Helper()
	if tasks, err := f.claim(); err != nil || len(tasks) != want {
		f.Errorf("claimed %d messages, want %d: %v", len(tasks), want, err)
	}
}

// rulesOfDeals returns the rules of messages as the version with the column lane has them:
// MigrateTo drops them.
func (f *renamed) rulesOfDeals() (texts []string) {
	f.Helper()
	rows, err := f.db.Query("SELECT replace(sql, 'NEW.destination', 'NEW.lane') FROM sqlite_schema WHERE name IN ('fsm_message_deal', 'fsm_outbox_cause')")
	f.must(err)
	defer rows.Close()
	for rows.Next() {
		var text string
		f.must(rows.Scan(&text))
		texts = append(texts, text)
	}
	f.must(rows.Err())
	return texts
}

func (f *renamed) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func dealID(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

// TestRulesFollowARenamedColumn: a program renames the column lane to destination in a file
// with the rules of a machine that this program does not have. The rules refuse and accept
// the same messages, by the name that the column has. A process whose statements have the
// other name gets errors, and works as soon as the tables have its version.
func TestRulesFollowARenamedColumn(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "deals.db")
	f := &renamed{T: t, s: open(t, path, sqlite.Options{}), running: open(t, path, sqlite.Options{}), db: raw(t, path)}
	f.must(f.s.Migrate(t.Context(), []store.Machine{deal.Define[*sql.Tx](nil, deal.DefaultParams())}))
	f.checked(1, "destination")
	f.claims(1)
	for n := range 2 {
		rules := f.rulesOfDeals()
		f.must(f.s.MigrateTo(t.Context(), beforeDestination))
		for _, text := range rules {
			_, err := raw(t, path).Exec(text) // a new connection, which has read no earlier schema
			f.must(err)
		}
		f.checked(2+2*n, "lane")
		if tasks, err := f.claim(); !errors.Is(err, store.ErrStore) || !strings.Contains(err.Error(), "no such column: destination") {
			t.Errorf("a process of another version claims %d messages, %v", len(tasks), err)
		}
		f.must(f.s.Migrate(t.Context(), nil))
		f.checked(3+2*n, "destination")
		f.claims(2)
	}
	if n := count(t, path, "fsm_outbox WHERE destination = 'kafka' AND state = 'delivering' AND cut = 0"); n != 5 {
		t.Errorf("%d of 5 messages are claimed once", n)
	}
}
