package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// beforeDestination is the last version of the engine's tables with the column lane, which
// is called destination since.
const beforeDestination = 11

// created stores the n-th deal by SQL, without its message.
func (d *database) created(t *testing.T, n int) {
	t.Helper()
	d.exec(t, fmt.Sprintf(`
		INSERT INTO deals (deal_id, status, version, last_event, entered_at, created_at, updated_at, advertiser_id, owner_id, price_nano)
		VALUES ('%[1]s', 'DRAFT', 1, 'CREATE', '%[2]s', '%[2]s', '%[2]s', 7, 8, 100);
		INSERT INTO deal_events (event_id, deal_id, version, event_type, to_status, transition, actor_role, created_at)
		VALUES ('%[1]s', '%[1]s', 1, 'CREATE', 'DRAFT', 'create', 'advertiser', '%[2]s')`, id(n), "2026-01-02 03:04:05Z"))
}

// sends stores the message of the n-th deal's creation by SQL that calls the column of the
// destination so.
func (d *database) sends(n int, column, destination string) error {
	_, err := d.pool.Exec(context.Background(), fmt.Sprintf(`
		INSERT INTO fsm_outbox (message_id, machine, record_id, version, seq, effect, %[2]s, delivery, work, payload, created_at, state, attempts, available_at)
		SELECT encode(set_byte(set_byte(sum, 6, get_byte(sum, 6) & 15 | 128), 8, get_byte(sum, 8) & 63 | 128), 'hex')::uuid,
			'deal', '%[1]s', 1, 0, 'deal.events', '%[3]s', 'keyed', false, '{"deal_id":"%[1]s"}', '%[4]s', 'pending', 0, '%[4]s'
		FROM substr(sha256(convert_to('7:message36:%[1]s1:0', 'UTF8')), 1, 16) AS sum`, id(n), column, destination, "2026-01-02 03:04:05Z"), pgx.QueryExecModeSimpleProtocol)
	return err
}

// TestRulesFollowARenamedColumn: a program renames the column lane to destination in a database
// with the rules of a machine that this program does not have. The rules refuse and accept
// the same messages, by the name that the column has. A process whose statements have the
// other name gets errors, and works as soon as the tables have its version.
func TestRulesFollowARenamedColumn(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := openDatabase(t)
	s, running := d.store(t), d.store(t)
	must(t, s.Migrate(ctx, []store.Machine{deals()}))
	due := claim(1, 9)
	due.Destinations[0].Effects = []string{"deal.events"}
	claims := func(want int) {
		t.Helper()
		due.Token[0]++
		tasks, err := running.Claim(ctx, due)
		if err != nil || len(tasks) != want {
			t.Errorf("claimed %d messages, want %d: %v", len(tasks), want, err)
		}
	}
	checked := func(n int, column string) {
		t.Helper()
		d.created(t, n)
		if err := d.sends(n, column, "elsewhere"); err == nil || !strings.Contains(err.Error(), column+", delivery or work are not those of the effect") {
			t.Errorf("a wrong destination is stored: %v", err)
		}
		if err := d.sends(n, column, "kafka"); err != nil {
			t.Errorf("a message is refused: %v", err)
		}
	}
	checked(1, "destination")
	claims(1)
	for n := range 2 {
		must(t, s.MigrateTo(ctx, beforeDestination))
		checked(2+2*n, "lane")
		due.Token[0]++
		if tasks, err := running.Claim(ctx, due); !errors.Is(err, store.ErrStore) || !strings.Contains(err.Error(), "destination does not exist") {
			t.Errorf("a process of another version claims %d messages, %v", len(tasks), err)
		}
		must(t, s.Migrate(ctx, nil))
		checked(3+2*n, "destination")
		claims(2)
	}
	if n := d.count(t, "fsm_outbox WHERE destination = 'kafka' AND state = 'delivering' AND cut = 0"); n != 5 {
		t.Errorf("%d of 5 messages are claimed once", n)
	}
}
