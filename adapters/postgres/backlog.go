package postgres

import (
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// Each part looks at no more rows than its limit, in an index that holds nothing that is
// done. The parts that count do so in the order of their index, so that an order is
// counted as a whole.
//
// Of an order with a dead letter and something else open, that one waits: what came
// before the dead letter was closed when it was claimed.
const backlog = `WITH open AS (
		SELECT machine, record_id, destination, effect, state, cancelled
		FROM fsm_outbox
		WHERE open AND machine = ANY($1::text[])
		ORDER BY machine, record_id, destination
		LIMIT $6
	)
	SELECT 'blocked' AS kind, machine, destination AS name, '' AS state, count(*) AS count, NULL::timestamptz AS since
	FROM (
		SELECT machine, destination FROM open WHERE NOT cancelled
		GROUP BY machine, record_id, destination
		HAVING bool_or(state = 'dead_letter') AND count(*) > 1
	) AS orders
	GROUP BY machine, destination
	UNION ALL
	SELECT 'due', l.machine, d.effect, '', 1, min(d.due_at)
	FROM unnest($2::text[], $3::text[], $4::text[]) AS l (machine, destination, effects)
	CROSS JOIN LATERAL (
		SELECT o.effect, o.due_at
		FROM fsm_outbox AS o
		WHERE o.machine = l.machine AND o.destination = l.destination AND o.due_at <= $5 AND NOT o.parked
		ORDER BY o.due_at
		LIMIT $6
	) AS d
	WHERE d.effect = ANY(l.effects::text[])
	GROUP BY l.machine, d.effect
	UNION ALL
	SELECT 'open', machine, effect, state, count(*), NULL FROM open GROUP BY machine, effect, state
	UNION ALL
	SELECT 'overdue', machine, event, '', count(*), NULL
	FROM (
		SELECT machine, event FROM fsm_deadlines WHERE claim_at <= $5 AND machine = ANY($1::text[]) ORDER BY claim_at LIMIT $6
	) AS d
	GROUP BY machine, event
	ORDER BY 1, 2, 3, 4`

func readBacklog(q store.Read) (s statement) {
	s.sql.WriteString(backlog)
	s.args = []any{
		q.Machines(),
		column(q.Destinations, func(l store.Destination) string { return l.Machine }),
		column(q.Destinations, func(l store.Destination) string { return l.Name }),
		column(q.Destinations, func(l store.Destination) any { return listText(l.Effects) }),
		q.Now, q.Limit,
	}
	return s
}

func scanBacklog(rows pgx.Rows) (b store.Backlog, err error) {
	var since *time.Time
	err = scan(rows, &b.Kind, &b.Machine, &b.Name, &b.State, &b.Count, &since)
	if since != nil {
		b.Since = since.UTC()
	}
	return b, err
}
