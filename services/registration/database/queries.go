package database

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Queries are the questions about records that their own API does not answer.
type Queries struct {
	dialect dialect
	engine  durable
}

// Registration is a registration of a node.
type Registration struct {
	ID   string // "": there is none
	Live bool   // it has not ended
}

// Current returns the registration of a node that has not ended, or else the last one.
func (q *Queries) Current(ctx context.Context, node string) (r Registration, err error) {
	err = q.dialect.once(ctx, func(on querier) error {
		r.ID, r.Live, err = current(ctx, on, node)
		return err
	})
	return r, err
}

func current(ctx context.Context, q querier, node string) (id string, live bool, err error) {
	var state string
	found, err := one(ctx, q, "SELECT CAST(registration_id AS text), state FROM registration_records WHERE node_id = $1 ORDER BY registration_id DESC LIMIT 1",
		[]any{node}, &id, &state)
	return id, found && state != registration.Deregistered.String(), err
}

// Last returns the last registrations of nodes, of those that have any.
func (q *Queries) Last(ctx context.Context, nodes []string) (last map[string]Registration, err error) {
	err = q.dialect.once(ctx, func(on querier) error {
		last, err = q.dialect.last(ctx, on, nodes)
		return err
	})
	return last, err
}

// Correlation returns the correlation id with which a registration began.
func (q *Queries) Correlation(ctx context.Context, registrationID string) (correlation string, err error) {
	err = q.dialect.once(ctx, func(on querier) error {
		_, err := one(ctx, on, "SELECT coalesce(correlation_id, '') FROM registration_history WHERE registration_id = $1 AND version = 1", []any{registrationID}, &correlation)
		return err
	})
	return correlation, err
}

// Daemon returns the name of the daemon that answers for a registration.
func (q *Queries) Daemon(ctx context.Context, registrationID string) (daemon string, err error) {
	err = q.dialect.once(ctx, func(on querier) error {
		_, err := one(ctx, on, "SELECT daemon FROM registration_daemons WHERE registration_id = $1", []any{registrationID}, &daemon)
		return err
	})
	return daemon, err
}

// Held is a registration that has not ended, of a node of a daemon.
type Held struct {
	Key
	State       registration.State
	HealthCheck fsm.Optional[fsm.JSON] // consul_health_check of the payload
	Correlation string
}

// Held lists the registrations that a daemon answers for.
func (q *Queries) Held(ctx context.Context, daemon string) (out []Held, err error) {
	err = q.dialect.once(ctx, func(on querier) error {
		out = nil
		return on.query(ctx, func(scan scan) error {
			var h Held
			var state, check string
			if err := scan(&h.RegistrationID, &h.NodeID, &state, &check, &h.Correlation); err != nil {
				return err
			}
			h.State, err = registration.ParseState(state)
			if check != "" {
				h.HealthCheck = fsm.Some(fsm.JSON(check))
			}
			out = append(out, h)
			return err
		}, `SELECT CAST(r.registration_id AS text), r.node_id, r.state, coalesce(CAST(r.consul_health_check AS text), ''), coalesce(h.correlation_id, '')
			FROM registration_daemons AS d
			JOIN registration_records AS r ON r.registration_id = d.registration_id
			JOIN registration_history AS h ON h.registration_id = d.registration_id AND h.version = 1
			WHERE d.daemon = $1 AND r.state <> 'deregistered' ORDER BY r.node_id`, daemon)
	})
	return out, err
}

// Holder returns the node that a service id belongs to, "" if it is free: two
// nodes with one id would take each other's place in Consul. Of two that ask at
// once the earlier registration gets it. Transactions that have locked the id, and whose
// registrations no query sees yet, are waited for: see InlineTx.LockNames.
func (q *Queries) Holder(ctx context.Context, registrationID, service string) (node string, err error) {
	err = q.dialect.once(ctx, func(on querier) error {
		if err := q.dialect.awaitNames(ctx, on, []string{service}); err != nil {
			return err
		}
		_, err := one(ctx, on, claimant+` AND (state <> 'validating' OR registration_id < $2) LIMIT 1`, []any{service, registrationID}, &node)
		return err
	})
	return node, err
}

const (
	// claims: a registration has its service id, or may get it.
	claims = `state <> 'deregistered' AND state <> 'unregistered' AND (state <> 'failed' OR consul_applied)`
	// claimant finds the node that has the service id $1 by another registration than $2.
	claimant = `SELECT node_id FROM registration_records WHERE consul_service_id = $1 AND registration_id <> $2 AND ` + claims
)

// Remnant is an ended registration that may have left something behind.
type Remnant struct {
	ID    string
	Ended time.Time
}

// Remnants lists registrations that ended before a time without a confirmation that row
// and service are gone, and that were not swept: those that ended first at first,
// beginning after the given one.
func (q *Queries) Remnants(ctx context.Context, before time.Time, after Remnant, limit int) (out []Remnant, err error) {
	err = q.dialect.once(ctx, func(on querier) error {
		out = nil
		return on.query(ctx, func(scan scan) error {
			var r Remnant
			err := scan(&r.ID, &r.Ended)
			r.Ended = r.Ended.UTC()
			out = append(out, r)
			return err
		}, `SELECT CAST(registration_id AS text), entered_at FROM registration_records AS r
			WHERE state = 'deregistered' AND (consul_cleanup <> 'removed' OR postgres_cleanup <> 'removed') AND entered_at <= $1
				AND NOT EXISTS (SELECT 1 FROM registration_swept AS s WHERE s.registration_id = r.registration_id)
				AND (entered_at, registration_id) > ($2, $3)
			ORDER BY entered_at, registration_id LIMIT $4`, before.UTC(), after.Ended, after.ID, limit)
	})
	return out, err
}

// Swept notes that a registration has left nothing behind, so that Remnants lists it no more.
func (q *Queries) Swept(ctx context.Context, registrationID string, at time.Time) error {
	return q.engine.transact(ctx, func(ctx context.Context, t transaction) error {
		_, err := t.exec(ctx, "INSERT INTO registration_swept (registration_id, swept_at) VALUES ($1, $2) ON CONFLICT DO NOTHING", registrationID, at.UTC())
		return err
	})
}

// EndedOfNode returns the last registration of a node, if it has any and all of them have
// ended; "" otherwise.
func (q *Queries) EndedOfNode(ctx context.Context, node string) (registrationID string, err error) {
	if !utf8.ValidString(node) || strings.ContainsRune(node, 0) { // no column can hold such a text
		return "", nil
	}
	return q.ended(ctx, "node_id = $1", node)
}

// EndedRegistration returns the id of a registration again if it is known and has ended; "" otherwise.
func (q *Queries) EndedRegistration(ctx context.Context, registrationID string) (string, error) {
	return q.ended(ctx, "registration_id = $1", registrationID)
}

func (q *Queries) ended(ctx context.Context, clause, value string) (registrationID string, err error) {
	var live int
	err = q.engine.transact(ctx, func(ctx context.Context, t transaction) error {
		_, err := one(ctx, t, `SELECT coalesce(max(CAST(registration_id AS text)), ''), count(CASE WHEN state <> 'deregistered' THEN 1 END)
			FROM registration_records WHERE `+clause, []any{value}, &registrationID, &live)
		return err
	})
	if err != nil || live > 0 {
		return "", err
	}
	return registrationID, nil
}
