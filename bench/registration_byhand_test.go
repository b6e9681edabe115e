package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/services/registration"
)

// stepByHand moves registrations on and tells their histories, in one statement. $1
// are the registrations, $2 is the time, $3 are the events of the histories; what is
// formatted into it: the assignments, the event, the states before and after, the
// version after, what the event carried, further columns of the registrations, the
// transition, and who fired.
//
// What is compared with constants comes with the rows that they are compared for: by
// constants alone PostgreSQL would expect a row of a small table, look for it in all
// of it, and keep that plan when the table has grown.
const stepByHand = `WITH s AS (
		SELECT s.*, '%[3]s' AS origin, %[5]d - 1 AS before FROM unnest($1::uuid[], $3::uuid[]%[7]s) AS s (id, event%[8]s) LIMIT cardinality($1::uuid[])
	), r AS (
		UPDATE registration_records SET %[1]s, state = '%[4]s', version = %[5]d, last_event = '%[2]s', entered_at = $2, updated_at = $2
		FROM s WHERE registration_id = s.id AND state = s.origin AND version = s.before
		RETURNING s.*
	)
	INSERT INTO registration_history (event_id, registration_id, version, event_type, from_state, to_state, transition, actor_role, payload, correlation_id, created_at)
	SELECT event, id, %[5]d, '%[2]s', '%[3]s', '%[4]s', '%[9]s', '%[10]s', %[6]s, CAST(id AS text), $2 FROM r`

var (
	createdByHand = `WITH s AS (
		SELECT * FROM unnest($1::uuid[], $3::uuid[], $4::text[]) AS s (id, event, node) LIMIT cardinality($1::uuid[])
	), r AS (
		INSERT INTO registration_records (registration_id, node_id, state, version, last_event, entered_at, created_at, updated_at)
		SELECT id, node, 'unregistered', 1, 'create', $2, $2, $2 FROM s
		RETURNING 1
	)
	INSERT INTO registration_history (event_id, registration_id, version, event_type, to_state, transition, actor_role, payload, correlation_id, created_at)
	SELECT event, id, 1, 'create', 'unregistered', 'create', 'external', json_build_object('node_id', node), CAST(id AS text), $2
	FROM s WHERE (SELECT count(*) FROM r) > 0`

	registerByHand = fmt.Sprintf(stepByHand, `deployment_id = 'blue', environment = 'production', network_id = 'net-1', consul_service_id = s.service,
		consul_service_name = 'onex-node', consul_tags = '{a,b}', postgres_record = $6`, "REGISTER", "unregistered", "validating", 2, "payload",
		", $4::text[], $5::jsonb[]", ", service, payload", "start_registration", "external")
	validatedByHand  = fmt.Sprintf(stepByHand, "validation_error = NULL", "VALIDATION_PASSED", "validating", "registering_postgres", 3, `'{"validation_result":"passed"}'::jsonb`, "", "", "validation_success", "system")
	writtenByHand    = fmt.Sprintf(stepByHand, "postgres_applied = true", "POSTGRES_SUCCEEDED", "registering_postgres", "postgres_registered", 4, `'{"postgres_applied":true}'::jsonb`, "", "", "postgres_success", "system")
	continuedByHand  = fmt.Sprintf(stepByHand, "consul_error = NULL", "CONTINUE", "postgres_registered", "registering_consul", 5, "'{}'::jsonb", "", "", "start_consul_registration", "system")
	advertisedByHand = fmt.Sprintf(stepByHand, "consul_applied = true", "CONSUL_SUCCEEDED", "registering_consul", "registered", 6, `'{"consul_applied":true}'::jsonb`, "", "", "consul_success", "system")
)

const (
	rowsByHand = `WITH s AS (
		SELECT * FROM unnest($1::uuid[], $3::text[], $4::uuid[], $5::json[], $8::uuid[]) AS s (id, node, message, payload, token) LIMIT cardinality($1::uuid[])
	), d AS (
		INSERT INTO registration_daemons (registration_id, daemon) SELECT id, 'bench' FROM s
	), o AS (
		INSERT INTO fsm_outbox (message_id, machine, record_id, version, seq, effect, destination, delivery, work, payload, correlation, created_at,
			state, attempts, available_at, lease_token, lease_until, worker)
		SELECT message, 'registration', CAST(id AS text), 5, 1, 'consul.register', 'consul', 'idempotent', true,
			CAST(CAST(payload AS jsonb) || jsonb_build_object('registration_id', id) AS json), CAST(id AS text), $2,
			'delivering', 1, $2, token, $6, 'bench' FROM s
	), t AS (
		INSERT INTO fsm_deadlines (machine, record_id, kind, version, due_at, event, payload, correlation)
		SELECT 'registration', CAST(id AS text), 'timeout', 5, $6, 'CONSUL_FAILED', '{}', CAST(id AS text) FROM s
	)
	INSERT INTO node_registrations AS n
		(node_id, registration_id, deployment_id, environment, network_id, record, status, daemon, last_heartbeat, correlation_id, registered_at, updated_at)
	SELECT node, id, 'blue', 'production', 'net-1', $7, 'registered', 'bench', $2, CAST(id AS text), $2, $2 FROM s
	ON CONFLICT (node_id) DO UPDATE SET registration_id = excluded.registration_id, record = excluded.record, updated_at = excluded.updated_at
		WHERE excluded.registration_id >= n.registration_id`

	doneByHand = `WITH s AS (
		SELECT CAST(id AS text) AS id, message, token, 'registration' AS machine, 'timeout' AS kind
		FROM unnest($1::uuid[], $3::uuid[], $4::uuid[]) AS s (id, message, token) LIMIT cardinality($1::uuid[])
	), t AS (
		DELETE FROM fsm_deadlines AS d USING s WHERE d.machine = s.machine AND d.record_id = s.id AND d.kind = s.kind
	)
	UPDATE fsm_outbox AS o SET state = 'delivered', delivered_at = $2, lease_token = NULL, lease_until = NULL, worker = NULL
	FROM s WHERE o.message_id = s.message AND o.lease_token = s.token`
)

// handmade is a registration that byHand makes.
type handmade struct {
	id, node, payload string
	event             string // of the step that asks for its effect
	message, token    string // of its effect
}

// byHand stores what a registration stores, with statements written for it, and
// makes the same requests: the record with its six steps and their history, the row,
// the message and the deadline, in two transactions of one round trip each. Those that
// come at the same time share them, as those of the service do. It asks the database
// nothing: neither whether the node is registered, nor who has the service id, nor who
// has the row.
func (r *registrations) byHand(ctx context.Context) error {
	h := &handmade{id: random(), node: r.node(), event: random(), token: random()}
	h.message = messageID(h.event, 1) // the first effect of that step is a log line
	payload, err := json.Marshal(map[string]any{
		"deployment_id": "blue", "environment": "production", "network_id": "net-1", "consul_service_id": "svc-" + h.node,
		"consul_service_name": "onex-node", "consul_tags": []string{"a", "b"}, "postgres_record": json.RawMessage(record),
	})
	if err != nil {
		return err
	}
	h.payload = string(payload)
	const together = 32
	if err := r.begun.Do(h.id, h, together, func(all []*handmade) error { return r.beginByHand(ctx, all) }); err != nil {
		return err
	}
	err = r.consul.Register(ctx, registration.Service{
		ID: "svc-" + h.node, Name: "onex-node", Tags: []string{"a", "b"}, TTL: time.Hour, NodeID: h.node, RegistrationID: h.id,
	})
	if err != nil {
		return err
	}
	return r.answered.Do(h.id, h, together, func(all []*handmade) error { return r.endByHand(ctx, all) })
}

func (r *registrations) beginByHand(ctx context.Context, all []*handmade) error {
	const lease = 30 * time.Second
	now, ids := inOrder(all)
	nodes, payloads := fields(all, func(h *handmade) string { return h.node }), fields(all, func(h *handmade) string { return h.payload })
	messages, tokens := effects(all)
	var b pgx.Batch
	b.Queue(createdByHand, ids, now, randoms(all), nodes)
	b.Queue(registerByHand, ids, now, randoms(all), fields(all, func(h *handmade) string { return "svc-" + h.node }), payloads, record)
	b.Queue(validatedByHand, ids, now, randoms(all))
	b.Queue(writtenByHand, ids, now, randoms(all))
	b.Queue(continuedByHand, ids, now, fields(all, func(h *handmade) string { return h.event }))
	b.Queue(rowsByHand, ids, now, nodes, messages, payloads, now.Add(lease), record, tokens)
	return r.pool.SendBatch(ctx, &b).Close()
}

func (r *registrations) endByHand(ctx context.Context, all []*handmade) error {
	now, ids := inOrder(all)
	messages, tokens := effects(all)
	var b pgx.Batch
	b.Queue(advertisedByHand, ids, now, randoms(all))
	b.Queue(doneByHand, ids, now, messages, tokens)
	return r.pool.SendBatch(ctx, &b).Close()
}

// inOrder puts registrations in the order in which transactions lock, and returns
// their ids.
func inOrder(all []*handmade) (now time.Time, ids []string) {
	slices.SortFunc(all, func(a, b *handmade) int { return strings.Compare(a.id, b.id) })
	return time.Now().UTC(), fields(all, func(h *handmade) string { return h.id })
}

func effects(all []*handmade) (messages, tokens []string) {
	return fields(all, func(h *handmade) string { return h.message }), fields(all, func(h *handmade) string { return h.token })
}

func randoms(all []*handmade) []string {
	return fields(all, func(*handmade) string { return random() })
}

func fields(all []*handmade, of func(*handmade) string) []string {
	list := make([]string, len(all))
	for i, h := range all {
		list[i] = of(h)
	}
	return list
}
