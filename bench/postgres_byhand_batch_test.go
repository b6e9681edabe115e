package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	handBatch   = 100 // events in a transaction, as many as of FireBatch
	handAbreast = 4   // transactions at the same time, as many as of FireBatch

	handReadAll = `SELECT deal_id, status, advertiser_id, owner_id, price_nano, deposit_address, deposit_tx, deposit_nano, escrow, creative,
		publish_at, advertiser_cancels, owner_cancels, version, entered_at FROM deals WHERE deal_id = ANY($1::uuid[])`

	// The number of rows is known to the planner by the LIMIT alone: it would expect few rows
	// of unnest, and many of the table.
	handWriteAll = `WITH s AS (
		SELECT * FROM unnest($1::uuid[], $2::bigint[], $4::uuid[], $5::text[], $6::uuid[], $7::json[], $8::uuid[], $9::json[])
			AS s (id, version, event, correlation, notify_id, notify, event_id, event_payload) LIMIT cardinality($1::uuid[])
	), r AS (
		UPDATE deals AS d SET advertiser_cancels = true, version = d.version + 1, last_event = 'MUTUAL_CANCEL', updated_at = $3
		FROM s WHERE d.deal_id = s.id AND d.status = 'FUNDED' AND d.version = s.version
		RETURNING d.version AS to_version, s.*
	), h AS (
		INSERT INTO deal_events (event_id, deal_id, version, event_type, from_status, to_status, transition, actor_role, actor_id, payload, correlation_id, created_at)
		SELECT event, id, to_version, 'MUTUAL_CANCEL', 'FUNDED', 'FUNDED', 'consent_by_advertiser', 'advertiser', $10, '{}', correlation, $3 FROM r
	)
	INSERT INTO fsm_outbox (message_id, machine, record_id, version, seq, effect, destination, delivery, work, payload, correlation, created_at, state, attempts, available_at)
	SELECT m.id, 'deal', CAST(r.id AS text), r.to_version, m.seq, m.effect, m.destination, 'keyed', false, m.payload, r.correlation, $3, 'pending', 0, $3
	FROM r CROSS JOIN LATERAL (VALUES (r.notify_id, 0, 'notify_owner', 'owner_notifications', r.notify), (r.event_id, 1, 'deal.events', 'kafka', r.event_payload))
		AS m (id, seq, effect, destination, payload)`
)

// consentAll is MUTUAL_CANCEL by the advertiser of many deals, each once: of every hundred the
// rows are read, looked at in Go, and written by one statement.
func (h byHand) consentAll(ctx context.Context, ids []string, advertiser int64) error {
	slices.Sort(ids) // transactions lock in the same order
	var mu sync.Mutex
	var failed error
	var all sync.WaitGroup
	free := make(chan struct{}, handAbreast)
	for part := range slices.Chunk(ids, handBatch) {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			err := h.consentTogether(ctx, part, advertiser)
			mu.Lock()
			defer mu.Unlock()
			failed = errors.Join(failed, err)
		})
	}
	all.Wait()
	return failed
}

// consentTogether is the consent of deals in one transaction, that of the statement. It fails if
// another writer was first at one of them, and the others are written.
func (h byHand) consentTogether(ctx context.Context, ids []string, advertiser int64) error {
	rows, err := h.pool.Query(ctx, handReadAll, ids)
	if err != nil {
		return err
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d handDeal, err error) { return d, d.scan(row) })
	if err != nil {
		return err
	}
	now := time.Now().UTC()
	w, err := consentsOf(found, advertiser, now)
	if err != nil {
		return err
	}
	tag, err := h.pool.Exec(ctx, handWriteAll, w.ids, w.versions, now, w.events, w.correlations,
		w.notifyIDs, w.notifies, w.eventIDs, w.eventPayloads, advertiser)
	if err == nil && tag.RowsAffected() != int64(2*len(ids)) {
		return fmt.Errorf("%d messages were written for %d deals: another writer was first", tag.RowsAffected(), len(ids))
	}
	return err
}

// handConsents are the columns of what a transaction writes.
type handConsents struct {
	ids, events, correlations, notifyIDs, notifies, eventIDs, eventPayloads []string
	versions                                                                []int64
}

// consentsOf decides about deals.
func consentsOf(found []handDeal, advertiser int64, now time.Time) (w handConsents, err error) {
	for _, d := range found {
		notify, event, err := d.consent(advertiser, now)
		if err != nil {
			return w, err
		}
		step := random()
		w.ids, w.versions = append(w.ids, d.id.String()), append(w.versions, d.version)
		w.events, w.correlations = append(w.events, step), append(w.correlations, random())
		w.notifyIDs, w.notifies = append(w.notifyIDs, messageID(step, 0)), append(w.notifies, string(notify))
		w.eventIDs, w.eventPayloads = append(w.eventIDs, messageID(step, 1)), append(w.eventPayloads, string(event))
	}
	return w, nil
}

// consent decides about a deal, and returns the payloads of its two messages.
func (d handDeal) consent(advertiser int64, now time.Time) (notify, event []byte, err error) {
	if d.status != "FUNDED" || d.advertiser != advertiser || d.ownerCancels {
		return nil, nil, errors.New("not now, or not this one")
	}
	if notify, err = json.Marshal(map[string]any{"owner_id": d.owner, "status": d.status}); err != nil {
		return nil, nil, err
	}
	event, err = json.Marshal(map[string]any{
		"deal_id": d.id.String(), "event_type": d.status, "from_status": d.status, "to_status": d.status, "actor_id": advertiser, "created_at": now,
	})
	return notify, event, err
}

// scan reads a row of deals.
func (d *handDeal) scan(row pgx.Row) error {
	return row.Scan(&d.id, &d.status, &d.advertiser, &d.owner, &d.price, &d.address, &d.tx, &d.deposit, &d.escrow, &d.creative,
		&d.publishAt, &d.advertiserCancels, &d.ownerCancels, &d.version, &d.enteredAt)
}
