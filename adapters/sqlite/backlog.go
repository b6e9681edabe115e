package sqlite

import (
	"encoding/json"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// backlog has the machines ?1, the destinations ?2, the time ?3 and the limit ?4. Each part counts
// at most so many rows, in an index with few rows that are done. The parts count in the order of
// their index, so they count the messages of an ordering key together.
//
// An ordering key with a dead letter is blocked if it has another open message. That one is behind
// the dead letter: those before were closed when the dead letter was claimed.
const backlog = `WITH open AS MATERIALIZED (
		SELECT machine, record_id, destination, effect, state, cancelled
		FROM fsm_outbox INDEXED BY fsm_outbox_ordering_key
		WHERE state <> 'delivered' AND (cancelled = 0 OR state = 'delivering') AND discarded_at IS NULL
			AND machine IN (SELECT value FROM json_each(?1))
		ORDER BY machine, record_id, destination
		LIMIT ?4
	), wanted AS (
		SELECT l.value ->> 'Machine' AS machine, l.value ->> 'Name' AS destination, e.value AS effect
		FROM json_each(?2) AS l, json_each(l.value, '$.Effects') AS e
	), due AS (
		SELECT machine, effect, (
			SELECT coalesce(o.lease_until, o.available_at)
			FROM fsm_outbox AS o INDEXED BY fsm_outbox_due
			WHERE o.machine = w.machine AND o.destination = w.destination AND o.effect = w.effect AND coalesce(o.lease_until, o.available_at) <= ?3
				AND o.parked = 0 AND o.cancelled = 0 AND o.state IN ('pending', 'retry_wait', 'delivering')
			ORDER BY coalesce(o.lease_until, o.available_at)
			LIMIT 1
		) AS since
		FROM wanted AS w
	)
	SELECT 'blocked' AS kind, machine, destination AS name, '' AS state, count(*), NULL AS since
	FROM (
		SELECT machine, destination FROM open WHERE cancelled = 0
		GROUP BY machine, record_id, destination
		HAVING max(state = 'dead_letter') AND count(*) > 1
	)
	GROUP BY machine, destination
	UNION ALL
	SELECT 'due', machine, effect, '', 1, since FROM due WHERE since IS NOT NULL
	UNION ALL
	SELECT 'open', machine, effect, state, count(*), NULL FROM open GROUP BY machine, effect, state
	UNION ALL
	SELECT 'overdue', machine, event, '', count(*), NULL
	FROM (
		SELECT machine, event FROM fsm_deadlines INDEXED BY fsm_deadlines_due
		WHERE machine IN (SELECT value FROM json_each(?1)) AND max(due_at, coalesce(lease_until, due_at)) <= ?3
		LIMIT ?4
	)
	GROUP BY machine, event
	ORDER BY 1, 2, 3, 4`

// backlogValues returns the parameters of backlog.
func backlogValues(q store.Read) ([]any, error) {
	destinations, err := json.Marshal(q.Destinations)
	return []any{jsonList(q.Machines()), string(destinations), instant(q.Now), q.Limit}, err
}

func readBacklog(c *cells) (b store.Backlog) {
	b.Kind, b.Machine, b.Name, b.State, b.Count = store.BacklogKind(c.text()), c.text(), c.text(), c.text(), c.int()
	b.Since = c.optionalTime().V
	return b
}
