package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// byHand is what one would write for the advertiser's consent without the
// project: the row is read, looked at in Go, and then one statement updates it
// and inserts the history row and the two messages. The statement is its own
// transaction.
type byHand struct{ pool *pgxpool.Pool }

// handDeal is a row of deals.
type handDeal struct {
	id                       pgtype.UUID
	status                   string
	advertiser, owner, price int64
	address, tx              *string
	deposit                  *int64
	escrow                   string
	creative                 []byte
	publishAt                *time.Time
	advertiserCancels        bool
	ownerCancels             bool
	version                  int64
	enteredAt                time.Time
}

const (
	handRead = `SELECT deal_id, status, advertiser_id, owner_id, price_nano, deposit_address, deposit_tx, deposit_nano, escrow, creative,
		publish_at, advertiser_cancels, owner_cancels, version, entered_at FROM deals WHERE deal_id = $1`

	handWrite = `WITH r AS (
		UPDATE deals SET advertiser_cancels = true, version = version + 1, last_event = 'MUTUAL_CANCEL', updated_at = $3
		WHERE deal_id = $1 AND status = 'FUNDED' AND version = $2
		RETURNING version
	), h AS (
		INSERT INTO deal_events (event_id, deal_id, version, event_type, from_status, to_status, transition, actor_role, actor_id, payload, correlation_id, created_at)
		SELECT $4, $1, version, 'MUTUAL_CANCEL', 'FUNDED', 'FUNDED', 'consent_by_advertiser', 'advertiser', $5, '{}', $6, $3 FROM r
	)
	INSERT INTO fsm_outbox (message_id, machine, record_id, version, seq, effect, destination, delivery, work, payload, correlation, created_at, state, attempts, available_at)
	SELECT m.id, 'deal', $1::text, r.version, m.seq, m.effect, m.destination, 'keyed', false, m.payload, $6, $3, 'pending', 0, $3
	FROM r, (VALUES ($7::uuid, 0, 'notify_owner', 'owner_notifications', $8::json), ($9, 1, 'deal.events', 'kafka', $10)) AS m (id, seq, effect, destination, payload)`
)

// consent is MUTUAL_CANCEL by the advertiser.
func (h byHand) consent(ctx context.Context, id fsm.UUID, advertiser int64) error {
	conn, err := h.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	var d handDeal
	if err := d.scan(conn.QueryRow(ctx, handRead, id.String())); err != nil {
		return err
	}
	now := time.Now().UTC()
	notify, event, err := d.consent(advertiser, now)
	if err != nil {
		return err
	}
	step := random()
	tag, err := conn.Exec(ctx, handWrite, id.String(), d.version, now, step, advertiser, random(),
		messageID(step, 0), notify, messageID(step, 1), event)
	if err == nil && tag.RowsAffected() != 2 {
		return fmt.Errorf("%d messages were written: another writer was first", tag.RowsAffected())
	}
	return err
}
