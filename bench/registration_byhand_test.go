package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/services/registration"
)

// stepByHand moves a registration on and tells its history, in one statement. $1 is
// the registration, $2 the time, $3 the event of the history; what is formatted into
// it: the assignments, the event, the states before and after, the version after, and
// what the event carried.
const stepByHand = `WITH r AS (
		UPDATE registration_records SET %[1]s, state = '%[4]s', version = %[5]d, last_event = '%[2]s', entered_at = $2, updated_at = $2
		WHERE registration_id = $1 AND state = '%[3]s' AND version = %[5]d - 1
		RETURNING 1
	)
	INSERT INTO registration_history (event_id, registration_id, version, event_type, from_state, to_state, transition, actor_role, payload, correlation_id, created_at)
	SELECT $3, $1, %[5]d, '%[2]s', '%[3]s', '%[4]s', '%[2]s', 'system', %[6]s, CAST($1::uuid AS text), $2 FROM r`

var (
	createdByHand = `WITH r AS (
		INSERT INTO registration_records (registration_id, node_id, state, version, last_event, entered_at, created_at, updated_at)
		VALUES ($1, $4, 'unregistered', 1, 'create', $2, $2, $2)
		RETURNING 1
	)
	INSERT INTO registration_history (event_id, registration_id, version, event_type, to_state, transition, actor_role, payload, correlation_id, created_at)
	SELECT $3, $1, 1, 'create', 'unregistered', 'create', 'external', json_build_object('node_id', $4::text), CAST($1::uuid AS text), $2 FROM r`

	registerByHand = fmt.Sprintf(stepByHand, `deployment_id = 'blue', environment = 'production', network_id = 'net-1', consul_service_id = $4,
		consul_service_name = 'onex-node', consul_tags = '{a,b}', postgres_record = $5`, "REGISTER", "unregistered", "validating", 2, "$6::json")
	validatedByHand  = fmt.Sprintf(stepByHand, "validation_error = NULL", "VALIDATION_PASSED", "validating", "registering_postgres", 3, `'{"validation_result":"passed"}'`)
	writtenByHand    = fmt.Sprintf(stepByHand, "postgres_applied = true", "POSTGRES_SUCCEEDED", "registering_postgres", "postgres_registered", 4, `'{"postgres_applied":true}'`)
	continuedByHand  = fmt.Sprintf(stepByHand, "consul_error = NULL", "CONTINUE", "postgres_registered", "registering_consul", 5, "'{}'")
	advertisedByHand = fmt.Sprintf(stepByHand, "consul_applied = true", "CONSUL_SUCCEEDED", "registering_consul", "registered", 6, `'{"consul_applied":true}'`)
)

const (
	rowsByHand = `WITH d AS (
		INSERT INTO registration_daemons (registration_id, daemon) VALUES ($1, 'bench')
	), o AS (
		INSERT INTO fsm_outbox (message_id, machine, record_id, version, seq, effect, lane, delivery, work, payload, correlation, created_at,
			state, attempts, available_at, lease_token, lease_until, worker)
		VALUES ($4, 'registration', CAST($1::uuid AS text), 5, 0, 'consul.register', 'consul', 'idempotent', true, $5, CAST($1::uuid AS text), $2,
			'delivering', 1, $2, $4, $6, 'bench')
	), t AS (
		INSERT INTO fsm_deadlines (machine, record_id, kind, version, due_at, event, payload, correlation)
		VALUES ('registration', CAST($1::uuid AS text), 'timeout', 5, $6, 'CONSUL_FAILED', '{}', CAST($1::uuid AS text))
	)
	INSERT INTO node_registrations AS n
		(node_id, registration_id, deployment_id, environment, network_id, record, status, daemon, last_heartbeat, correlation_id, registered_at, updated_at)
	VALUES ($3, $1, 'blue', 'production', 'net-1', $7, 'registered', 'bench', $2, CAST($1::uuid AS text), $2, $2)
	ON CONFLICT (node_id) DO UPDATE SET registration_id = excluded.registration_id, record = excluded.record, updated_at = excluded.updated_at
		WHERE excluded.registration_id >= n.registration_id`

	doneByHand = `WITH t AS (
		DELETE FROM fsm_deadlines WHERE machine = 'registration' AND record_id = CAST($1::uuid AS text) AND kind = 'timeout'
	)
	UPDATE fsm_outbox SET state = 'delivered', delivered_at = $2, lease_token = NULL, lease_until = NULL, worker = NULL
	WHERE message_id = $3 AND lease_token = $3`
)

// byHand stores what a registration stores, with statements written for it, and
// makes the same requests: the record with its six steps and their history, the row,
// the message and the deadline, in two transactions of one round trip each. It asks
// the database nothing: neither whether the node is registered, nor who has the
// service id, nor who has the row.
func (r *registrations) byHand(ctx context.Context) error {
	node, id, message, now := r.node(), random(), random(), time.Now().UTC()
	service := "svc-" + node
	payload, err := json.Marshal(map[string]any{
		"deployment_id": "blue", "environment": "production", "network_id": "net-1", "consul_service_id": service,
		"consul_service_name": "onex-node", "consul_tags": []string{"a", "b"}, "postgres_record": json.RawMessage(record),
	})
	if err != nil {
		return err
	}
	const patience = 30 * time.Second
	var first, second pgx.Batch
	first.Queue(createdByHand, id, now, random(), node)
	first.Queue(registerByHand, id, now, random(), service, record, payload)
	first.Queue(validatedByHand, id, now, random())
	first.Queue(writtenByHand, id, now, random())
	first.Queue(continuedByHand, id, now, random())
	first.Queue(rowsByHand, id, now, node, message, payload, now.Add(patience), record)
	if err := r.pool.SendBatch(ctx, &first).Close(); err != nil {
		return err
	}
	err = r.consul.Register(ctx, registration.Service{
		ID: service, Name: "onex-node", Tags: []string{"a", "b"}, TTL: time.Hour, NodeID: node, RegistrationID: id,
	})
	if err != nil {
		return err
	}
	now = time.Now().UTC()
	second.Queue(advertisedByHand, id, now, random())
	second.Queue(doneByHand, id, now, message)
	return r.pool.SendBatch(ctx, &second).Close()
}
